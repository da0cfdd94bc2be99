/** Processors, memory, disks and ports (DSP0268). */
import * as z from 'zod/mini'
import { flag, link, links, number, part, parts, status, text } from './lenient.ts'

export const processor = z.object({
  Id: text,
  Socket: text,
  ProcessorType: text,
  Manufacturer: text,
  Model: text,
  TotalCores: number,
  TotalThreads: number,
  MaxSpeedMHz: number,
  Status: status,
})

export const memory = z.object({
  Id: text,
  DeviceLocator: text,
  CapacityMiB: number,
  Manufacturer: text,
  MemoryDeviceType: text,
  OperatingSpeedMhz: number,
  Status: status,
})

/** Storage, or the older SimpleStorage, whose devices stand in the document itself. */
export const storage = z.object({
  Id: text,
  Name: text,
  Status: status,
  Drives: links,
  Controllers: link,
  Devices: parts({
    Name: text,
    Manufacturer: text,
    Model: text,
    CapacityBytes: number,
    Status: status,
  }),
})

export const drive = z.object({
  Id: text,
  Name: text,
  Manufacturer: text,
  Model: text,
  SerialNumber: text,
  MediaType: text,
  Protocol: text,
  CapacityBytes: number,
  /** The disk predicts its failure (SMART). */
  FailurePredicted: flag,
  PredictedMediaLifeLeftPercent: number,
  Status: status,
  PhysicalLocation: part({ PartLocation: part({ ServiceLabel: text }) }),
})

export const networkPort = z.object({
  Id: text,
  Name: text,
  MACAddress: text,
  PermanentMACAddress: text,
  LinkStatus: text,
  SpeedMbps: number,
  Status: status,
})
