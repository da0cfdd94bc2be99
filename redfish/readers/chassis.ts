/**
 * The chassis with its supplies, fans and temperatures: in `Power` and `Thermal`, or in the newer
 * `PowerSubsystem`, `ThermalSubsystem` and `Sensors` (DSP0268). BMCs have one, the other or both.
 */
import * as z from 'zod/mini'
import { link, links, number, part, parts, status, text } from './lenient.ts'

export const chassis = z.object({
  Id: text,
  Name: text,
  ChassisType: text,
  SerialNumber: text,
  Model: text,
  HeightMm: number,
  Status: status,
  Location: part({ Placement: part({ Rack: text, RackOffset: number, RackOffsetUnits: text }) }),
  Power: link,
  Thermal: link,
  PowerSubsystem: link,
  ThermalSubsystem: link,
  Sensors: link,
})

export const power = z.object({
  PowerControl: parts({ Name: text, PowerConsumedWatts: number, PowerCapacityWatts: number }),
  PowerSupplies: parts({
    MemberId: text,
    Name: text,
    Model: text,
    SerialNumber: text,
    FirmwareVersion: text,
    LineInputVoltage: number,
    PowerInputWatts: number,
    PowerOutputWatts: number,
    LastPowerOutputWatts: number,
    PowerCapacityWatts: number,
    LineInputStatus: text,
    Status: status,
  }),
})

const limits = {
  UpperThresholdNonCritical: number,
  UpperThresholdCritical: number,
  UpperThresholdFatal: number,
  LowerThresholdNonCritical: number,
  LowerThresholdCritical: number,
  LowerThresholdFatal: number,
}
export const thermal = z.object({
  Temperatures: parts({
    MemberId: text,
    Name: text,
    PhysicalContext: text,
    ReadingCelsius: number,
    Status: status,
    ...limits,
  }),
  Fans: parts({
    MemberId: text,
    Name: text,
    FanName: text,
    Reading: number,
    ReadingRPM: number,
    ReadingUnits: text,
    Status: status,
    ...limits,
  }),
})

export const powerSubsystem = z.object({
  PowerSupplies: link,
  CapacityWatts: number,
  Status: status,
})
export const thermalSubsystem = z.object({ Fans: link, ThermalMetrics: link, Status: status })

const threshold = part({ Reading: number })
/** A sensor, or a supply or a fan of the newer models, whose reading is a sensor in itself. */
export const sensor = z.object({
  Id: text,
  Name: text,
  ReadingType: text,
  ReadingUnits: text,
  Reading: number,
  PhysicalContext: text,
  Status: status,
  Thresholds: part({
    UpperCaution: threshold,
    UpperCritical: threshold,
    UpperFatal: threshold,
    LowerCaution: threshold,
    LowerCritical: threshold,
    LowerFatal: threshold,
  }),
  /** Of a supply. */
  Model: text,
  SerialNumber: text,
  FirmwareVersion: text,
  PowerCapacityWatts: number,
  LineInputStatus: text,
  Metrics: link,
  /** Of a fan. */
  SpeedPercent: part({ Reading: number, SpeedRPM: number }),
  /** Of the metrics of a supply. */
  InputPowerWatts: part({ Reading: number }),
  OutputPowerWatts: part({ Reading: number }),
  InputVoltage: part({ Reading: number }),
  RelatedItem: links,
})
