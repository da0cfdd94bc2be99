/** The chassis: power and temperature in the older and in the newer model, and the sensors. */
import type { Bmc } from './bmc.ts'
import { patched } from './fields.ts'
import { FANS, type Reading, readingsOf, type Supply, suppliesOf, wattsOf } from './readings.ts'
import type { Json } from './refusal.ts'
import { lightFields, lightSetters } from './system.ts'
import { addCollection, document, HEALTHY, link, ROOT, type Tree } from './tree.ts'

const supplyStatus = ({ hasInput }: Supply): Json =>
  hasInput ? HEALTHY : { State: 'UnavailableOffline', Health: 'Critical' }

const readingStatus = ({ value, health }: Reading): Json => {
  return { State: value === null ? 'StandbyOffline' : 'Enabled', Health: health }
}

/** Limits in the names of the older model. */
const oldLimits = ({ upper, lower }: Reading): Json => {
  return {
    ...(upper && {
      UpperThresholdNonCritical: upper.caution,
      UpperThresholdCritical: upper.critical,
    }),
    ...(lower && {
      LowerThresholdNonCritical: lower.caution,
      LowerThresholdCritical: lower.critical,
    }),
  }
}

const newLimits = ({ upper, lower }: Reading): Json => {
  return {
    Thresholds: {
      ...(upper && {
        UpperCaution: { Reading: upper.caution },
        UpperCritical: { Reading: upper.critical },
      }),
      ...(lower && {
        LowerCaution: { Reading: lower.caution },
        LowerCritical: { Reading: lower.critical },
      }),
    },
  }
}

const members = (path: string, list: string, items: readonly Json[]): Json => {
  return {
    [`${list}@odata.count`]: items.length,
    [list]: items.map((item, at) => ({
      '@odata.id': `${path}#/${list}/${at}`,
      MemberId: String(at),
      ...item,
    })),
  }
}

/** The older model: the documents `Power` and `Thermal`. */
const addOld = (tree: Tree, bmc: Bmc, chassis: string): void => {
  const [power, thermal] = [`${chassis}/Power`, `${chassis}/Thermal`]
  tree.set(power, {
    read: () =>
      document(power, 'Power.v1_7_3.Power', 'Power', 'Power', {
        ...members(power, 'PowerControl', [
          {
            Name: 'System power',
            PowerConsumedWatts: wattsOf(bmc),
            PowerCapacityWatts: suppliesOf(bmc).reduce((sum, one) => sum + one.capacityWatts, 0),
            Status: HEALTHY,
          },
        ]),
        ...members(
          power,
          'PowerSupplies',
          suppliesOf(bmc).map((supply) => ({
            Name: `Power supply ${supply.number}`,
            SerialNumber: supply.serial,
            Model: 'SIM-PSU-1100',
            Manufacturer: 'Simulated',
            PowerSupplyType: 'AC',
            LineInputVoltage: supply.inputVolts,
            PowerCapacityWatts: supply.capacityWatts,
            PowerInputWatts: supply.inputWatts,
            PowerOutputWatts: supply.outputWatts,
            LastPowerOutputWatts: supply.outputWatts,
            Status: supplyStatus(supply),
          })),
        ),
        ...members(
          power,
          'Voltages',
          readingsOf(bmc)
            .filter(({ type }) => type === 'Voltage')
            .map((reading) => ({
              Name: reading.name,
              ReadingVolts: reading.value,
              PhysicalContext: reading.context,
              ...oldLimits(reading),
              Status: readingStatus(reading),
            })),
        ),
      }),
  })
  tree.set(thermal, {
    read: () =>
      document(thermal, 'Thermal.v1_7_3.Thermal', 'Thermal', 'Thermal', {
        ...members(
          thermal,
          'Temperatures',
          readingsOf(bmc)
            .filter(({ type }) => type === 'Temperature')
            .map((reading) => ({
              Name: reading.name,
              ReadingCelsius: reading.value,
              PhysicalContext: reading.context,
              ...oldLimits(reading),
              Status: readingStatus(reading),
            })),
        ),
        ...members(
          thermal,
          'Fans',
          readingsOf(bmc)
            .filter(({ type }) => type === 'Rotational')
            .map((reading) => ({
              Name: reading.name,
              Reading: reading.value,
              ReadingUnits: 'RPM',
              PhysicalContext: reading.context,
              ...oldLimits(reading),
              Status: readingStatus(reading),
            })),
        ),
      }),
  })
}

const addSensors = (tree: Tree, bmc: Bmc, chassis: string): void => {
  const path = (id: string) => `${chassis}/Sensors/${id}`
  addCollection(tree, `${chassis}/Sensors`, 'SensorCollection', () =>
    readingsOf(bmc).map(({ id }) => path(id)),
  )
  for (const { id } of readingsOf(bmc))
    tree.set(path(id), {
      read: () => {
        const reading = readingsOf(bmc).find((one) => one.id === id)!
        return document(path(id), 'Sensor.v1_13_0.Sensor', id, reading.name, {
          Reading: reading.value,
          ReadingType: reading.type,
          ReadingUnits: reading.units,
          ReadingRangeMin: reading.range[0],
          ReadingRangeMax: reading.range[1],
          PhysicalContext: reading.context,
          ...newLimits(reading),
          Status: readingStatus(reading),
        })
      },
    })
}

const addSupplies = (tree: Tree, bmc: Bmc, chassis: string): void => {
  const subsystem = `${chassis}/PowerSubsystem`
  const path = (number: number) => `${subsystem}/PowerSupplies/${number}`
  const now = (number: number): Supply =>
    suppliesOf(bmc).find((supply) => supply.number === number)!
  tree.set(subsystem, {
    read: () =>
      document(
        subsystem,
        'PowerSubsystem.v1_1_4.PowerSubsystem',
        'PowerSubsystem',
        'Power subsystem',
        {
          CapacityWatts: suppliesOf(bmc).reduce((sum, one) => sum + one.capacityWatts, 0),
          PowerSupplies: link(`${subsystem}/PowerSupplies`),
          Status: HEALTHY,
        },
      ),
  })
  addCollection(tree, `${subsystem}/PowerSupplies`, 'PowerSupplyCollection', () =>
    suppliesOf(bmc).map(({ number }) => path(number)),
  )
  for (const { number, serial, capacityWatts } of suppliesOf(bmc)) {
    const name = `Power supply ${number}`
    tree.set(path(number), {
      read: () =>
        document(path(number), 'PowerSupply.v1_7_0.PowerSupply', String(number), name, {
          Manufacturer: 'Simulated',
          Model: 'SIM-PSU-1100',
          SerialNumber: serial,
          FirmwareVersion: '1.04',
          PowerSupplyType: 'AC',
          PowerCapacityWatts: capacityWatts,
          LineInputStatus: now(number).hasInput ? 'Normal' : 'LossOfInput',
          Metrics: link(`${path(number)}/Metrics`),
          Status: supplyStatus(now(number)),
        }),
    })
    tree.set(`${path(number)}/Metrics`, {
      read: () =>
        document(
          `${path(number)}/Metrics`,
          'PowerSupplyMetrics.v1_2_0.PowerSupplyMetrics',
          'Metrics',
          `Metrics of power supply ${number}`,
          {
            InputVoltage: { Reading: now(number).inputVolts },
            InputPowerWatts: { Reading: now(number).inputWatts },
            OutputPowerWatts: { Reading: now(number).outputWatts },
            Status: supplyStatus(now(number)),
          },
        ),
    })
  }
}

const addThermal = (tree: Tree, bmc: Bmc, chassis: string): void => {
  const subsystem = `${chassis}/ThermalSubsystem`
  const path = (number: number) => `${subsystem}/Fans/${number}`
  const sensor = (id: string) => `${chassis}/Sensors/${id}`
  const numbers = Array.from({ length: FANS }, (_, at) => at + 1)
  tree.set(subsystem, {
    read: () =>
      document(
        subsystem,
        'ThermalSubsystem.v1_5_0.ThermalSubsystem',
        'ThermalSubsystem',
        'Thermal subsystem',
        {
          Fans: link(`${subsystem}/Fans`),
          ThermalMetrics: link(`${subsystem}/ThermalMetrics`),
          Status: HEALTHY,
        },
      ),
  })
  addCollection(tree, `${subsystem}/Fans`, 'FanCollection', () => numbers.map(path))
  for (const number of numbers)
    tree.set(path(number), {
      read: () => {
        const id = `fan${number}_tach`
        const reading = readingsOf(bmc).find((one) => one.id === id)!
        return document(path(number), 'Fan.v1_6_0.Fan', String(number), `Fan ${number}`, {
          PhysicalContext: 'Chassis',
          SpeedPercent: {
            DataSourceUri: sensor(id),
            Reading: reading.value === null ? null : Math.round(reading.value / 200),
            SpeedRPM: reading.value,
          },
          Status: readingStatus(reading),
        })
      },
    })
  tree.set(`${subsystem}/ThermalMetrics`, {
    read: () => {
      const warm = readingsOf(bmc).filter(({ type }) => type === 'Temperature')
      const excerpt = ({ id, value, name }: Reading): Json => {
        return { DataSourceUri: sensor(id), DeviceName: name, Reading: value }
      }
      return document(
        `${subsystem}/ThermalMetrics`,
        'ThermalMetrics.v1_3_3.ThermalMetrics',
        'ThermalMetrics',
        'Thermal metrics',
        {
          'TemperatureReadingsCelsius@odata.count': warm.length,
          TemperatureReadingsCelsius: warm.map(excerpt),
        },
      )
    },
  })
}

/** The newer model: subsystems with a document for each part, and sensors. */
const addNew = (tree: Tree, bmc: Bmc, chassis: string): void => {
  addSensors(tree, bmc, chassis)
  addSupplies(tree, bmc, chassis)
  addThermal(tree, bmc, chassis)
  const path = `${chassis}/EnvironmentMetrics`
  tree.set(path, {
    read: () => {
      const inlet = readingsOf(bmc).find(({ id }) => id === 'temp_inlet')!
      return document(
        path,
        'EnvironmentMetrics.v1_6_0.EnvironmentMetrics',
        'EnvironmentMetrics',
        'Environment',
        {
          TemperatureCelsius: {
            DataSourceUri: `${chassis}/Sensors/temp_inlet`,
            Reading: inlet.value,
          },
          PowerWatts: { DataSourceUri: `${chassis}/Sensors/power_total`, Reading: wattsOf(bmc) },
        },
      )
    },
  })
}

export const addChassis = (tree: Tree, bmc: Bmc): void => {
  const { personality, machine } = bmc
  const { ids, hasOldModels, hasNewModels } = personality
  const collection = `${ROOT}/Chassis`
  const path = `${collection}/${ids.chassis}`
  const isThere = !bmc.has('no-chassis')
  addCollection(tree, collection, 'ChassisCollection', () => (isThere ? [path] : []))
  if (!isThere) return
  const chassisDocument = (): Json =>
    document(path, 'Chassis.v1_28_0.Chassis', ids.chassis, 'Chassis', {
      ChassisType: 'RackMount',
      Manufacturer: machine.hardware.manufacturer,
      Model: machine.hardware.product,
      SKU: machine.hardware.sku,
      SerialNumber: machine.disk.identity.serial,
      AssetTag: bmc.kept.state.assetTag,
      HeightMm: 43.7,
      PowerState: bmc.power.state,
      ...lightFields(bmc),
      Location: {
        Placement: {
          Rack: `${machine.plan.place.cityCode}-R${String(Math.floor(machine.plan.index / 20) + 1).padStart(2, '0')}`,
          RackOffset: (machine.plan.index % 20) * 2 + 1,
          RackOffsetUnits: 'EIA_310',
        },
      },
      Status: { State: 'Enabled', Health: 'OK' },
      ...(hasOldModels && { Power: link(`${path}/Power`), Thermal: link(`${path}/Thermal`) }),
      ...(hasNewModels && {
        PowerSubsystem: link(`${path}/PowerSubsystem`),
        ThermalSubsystem: link(`${path}/ThermalSubsystem`),
        Sensors: link(`${path}/Sensors`),
        EnvironmentMetrics: link(`${path}/EnvironmentMetrics`),
      }),
      Links: {
        ComputerSystems: [link(`${ROOT}/Systems/${ids.system}`)],
        ManagedBy: [link(`${ROOT}/Managers/${ids.manager}`)],
      },
    })
  tree.set(path, {
    read: chassisDocument,
    needs: () => ['ConfigureComponents'],
    patch: ({ body }) => {
      patched(body, lightSetters(bmc), chassisDocument())
      return { status: 200, body: chassisDocument() }
    },
  })
  if (hasOldModels) addOld(tree, bmc, path)
  if (hasNewModels) addNew(tree, bmc, path)
}
