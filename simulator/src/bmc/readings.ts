import { createHash } from 'node:crypto'
import type { Bmc } from './bmc.ts'

/** What the sensors of a server measure. They change every ten seconds, by a hash, not by chance. */
export interface Reading {
  readonly id: string
  readonly name: string
  readonly type: 'Temperature' | 'Rotational' | 'Power' | 'Voltage'
  readonly units: 'Cel' | 'RPM' | 'W' | 'V'
  /** Physical context, of the enumeration of Redfish. */
  readonly context: string
  /** Null while the part is without power. */
  readonly value: number | null
  readonly range: readonly [number, number]
  readonly upper?: { readonly caution: number; readonly critical: number }
  readonly lower?: { readonly caution: number; readonly critical: number }
  readonly health: 'OK' | 'Warning' | 'Critical'
}

export interface Supply {
  readonly number: number
  readonly serial: string
  readonly capacityWatts: number
  readonly hasInput: boolean
  readonly inputVolts: number
  readonly inputWatts: number
  readonly outputWatts: number
}

export const FANS = 6
export const SUPPLIES = 2
const CAPACITY_WATTS = 1100
const STEP_MS = 10_000

/** A number in [0, 1) that stays the same for ten seconds. */
const wave = (bmc: Bmc, what: string): number => {
  const step = Math.floor(bmc.machine.world.clock.now() / STEP_MS)
  const digest = createHash('sha256').update(`${bmc.machine.plan.index}/${what}/${step}`).digest()
  return digest.readUInt32LE(0) / 0x1_0000_0000
}

const rounded = (value: number): number => Math.round(value * 10) / 10

const judged = (reading: Omit<Reading, 'health'>): Reading => {
  const { value, upper, lower } = reading
  const beyond = (which: 'caution' | 'critical'): boolean =>
    value !== null &&
    ((upper !== undefined && value >= upper[which]) ||
      (lower !== undefined && value <= lower[which]))
  return {
    ...reading,
    health: beyond('critical') ? 'Critical' : beyond('caution') ? 'Warning' : 'OK',
  }
}

const temperature = (
  id: string,
  name: string,
  context: string,
  value: number | null,
  caution: number,
  critical: number,
): Reading =>
  judged({
    id,
    name,
    type: 'Temperature',
    units: 'Cel',
    context,
    value: value === null ? null : rounded(value),
    range: [-40, 125],
    upper: { caution, critical },
  })

/** Watts that the whole server takes. */
export const wattsOf = (bmc: Bmc): number => {
  const { hardware, isOn } = bmc.machine
  if (!isOn) return rounded(11 + wave(bmc, 'watts'))
  const cores = hardware.sockets.reduce((sum, { processor }) => sum + processor.cores, 0)
  return Math.round(90 + cores * 1.4 + hardware.disks.length * 7 + wave(bmc, 'watts') * 40)
}

export const suppliesOf = (bmc: Bmc): Supply[] => {
  const all = Array.from({ length: SUPPLIES }, (_, at) => at + 1)
  const fed = all.filter((number) => !bmc.isBroken('supply-without-input', number))
  const share = wattsOf(bmc) / Math.max(1, fed.length)
  return all.map((number) => {
    const hasInput = fed.includes(number)
    return {
      number,
      serial: `SIMPS${String(bmc.machine.plan.index + 1).padStart(6, '0')}${number}`,
      capacityWatts: CAPACITY_WATTS,
      hasInput,
      inputVolts: hasInput ? rounded(228 + wave(bmc, `volts${number}`) * 4) : 0,
      inputWatts: hasInput ? rounded(share) : 0,
      outputWatts: hasInput ? rounded(share * 0.94) : 0,
    }
  })
}

/** Every reading but those of the supplies. */
export const readingsOf = (bmc: Bmc): Reading[] => {
  const { hardware, isOn } = bmc.machine
  const inlet = bmc.fault('hot')?.celsius ?? 21 + wave(bmc, 'inlet') * 3
  const warm = (above: number, what: string): number | null =>
    isOn ? inlet + above + wave(bmc, what) * 5 : null
  const fans = Array.from({ length: FANS }, (_, at): Reading => {
    const number = at + 1
    const turns = 6_800 + Math.round(wave(bmc, `fan${number}`) * 8) * 100
    return judged({
      id: `fan${number}_tach`,
      name: `Fan ${number}`,
      type: 'Rotational',
      units: 'RPM',
      context: 'Fan',
      value: !isOn ? null : bmc.isBroken('fan-stopped', number) ? 0 : turns,
      range: [0, 20_000],
      lower: { caution: 1_200, critical: 600 },
    })
  })
  return [
    temperature('temp_inlet', 'Inlet', 'Intake', inlet, 38, 43),
    temperature('temp_exhaust', 'Exhaust', 'Exhaust', warm(12, 'exhaust'), 70, 75),
    ...hardware.sockets.map(({ name }, at) =>
      temperature(`temp_cpu${at + 1}`, name, 'CPU', warm(28, `cpu${at}`), 85, 95),
    ),
    temperature('temp_memory', 'Memory', 'Memory', warm(15, 'memory'), 80, 90),
    ...fans,
    judged({
      id: 'volt_p12v',
      name: 'P12V',
      type: 'Voltage',
      units: 'V',
      context: 'SystemBoard',
      value: isOn ? rounded(12 + wave(bmc, 'p12v') * 0.2) : null,
      range: [0, 16],
      upper: { caution: 12.8, critical: 13.2 },
      lower: { caution: 11.2, critical: 10.8 },
    }),
    judged({
      id: 'volt_vbat',
      name: 'VBAT',
      type: 'Voltage',
      units: 'V',
      context: 'SystemBoard',
      value: 3,
      range: [0, 4],
      lower: { caution: 2.7, critical: 2.5 },
    }),
    judged({
      id: 'power_total',
      name: 'Total power',
      type: 'Power',
      units: 'W',
      context: 'Chassis',
      value: wattsOf(bmc),
      range: [0, SUPPLIES * CAPACITY_WATTS],
    }),
  ]
}
