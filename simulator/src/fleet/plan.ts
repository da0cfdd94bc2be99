import type { BmcFault } from '../bmc/faults.ts'
import type { PersonalityName } from '../bmc/personality.ts'
import { RELEASES } from '../config/versions.ts'
import { seeded, type Random } from '../random.ts'
import type { Boot } from './booted.ts'
import type { Fault } from './faults.ts'
import { MODEL_NAMES, type ModelName } from './hardware.ts'
import type { DiskContent, MediaKind } from './media.ts'
import { PLACES, type Place } from './places.ts'
import type { Scenario, ServerOptions } from './scenario.ts'

/**
 * An address in 127.20.0.0/16, stored relative to this simulation's first block, because that block
 * may change between starts.
 */
export interface Spot {
  block: number
  host: number
}

const HOSTS_PER_BLOCK = 250
const LAST_BLOCK = 255

export const addressAt = ({ block, host }: Spot, offset: number): string =>
  `127.20.${block + offset}.${host}`

/** Address of the management controller of the server with this address, in 127.21.0.0/16. */
export const bmcAddressOf = (address: string): string => address.replace(/^127\.20\./, '127.21.')

/** Converts an address to a spot; null outside of 127.20.0.0/16 and for reserved addresses. */
export const spotOf = (address: string, offset: number): Spot | null => {
  const match = /^127\.20\.(\d{1,3})\.(\d{1,3})$/.exec(address)
  const [third, host] = [Number(match?.[1]), Number(match?.[2])]
  if (
    !match ||
    third < 1 ||
    third > LAST_BLOCK ||
    host < 1 ||
    host > 254 ||
    `127.20.${third}.${host}` !== address
  )
    return null
  return { block: third - offset, host }
}

/**
 * Free spots for more servers: first in the blocks of the datacenter, if one is given, then in new
 * blocks after all existing ones, up to the end of the network.
 */
export function* spots(
  plans: readonly ServerPlan[],
  offset: number,
  place: string | null,
): Generator<Spot> {
  const blockOf = ({ address }: ServerPlan): number => Number(address.split('.')[2]) - offset
  const planned = plans.filter(({ boot }) => boot === null)
  const near =
    place === null
      ? []
      : [...new Set(planned.filter((plan) => plan.place.code === place).map(blockOf))]
  const first = Math.max(0, ...planned.map(blockOf)) + 1
  for (const block of near)
    for (let host = 1; host <= HOSTS_PER_BLOCK; host++) yield { block, host }
  for (let block = first; block + offset <= LAST_BLOCK; block++)
    for (let host = 1; host <= HOSTS_PER_BLOCK; host++) yield { block, host }
}

/** A server as the scenario defines it. */
export interface ServerPlan {
  /** From 0, over the whole fleet. */
  index: number
  /** The server's label on the rack, which the control socket also accepts: `poz-03`. */
  name: string
  address: string
  place: Place
  model: ModelName
  talosVersion: string
  schematic: string
  slowness: number
  missingDisks: boolean
  /** Whether the second link has an address too. */
  secondNetwork: boolean
  /** Initial content by disk. */
  contents: Readonly<Record<string, DiskContent>>
  media: readonly MediaKind[]
  power: 'on' | 'off'
  /** Whether the server has no boot media: nothing starts until Talos is installed. */
  isBare: boolean
  /** The management controller. It keeps its address when the server is moved. */
  bmc: { address: string; personality: PersonalityName; faults: readonly BmcFault[] }
  installed: string | null
  faults: Fault[]
  /** UUID and serial number that the board has in place of its own. Real boards may share them. */
  identity: { uuid?: string | undefined; serial?: string | undefined }
  /** How the server was booted, if it is outside of the scenario. */
  boot: Boot | null
}

/**
 * Talos versions for new servers, oldest first: those that Steelyard offers for new clusters. A
 * scenario may name any other simulated version.
 */
export const TALOS = ([13, 14] as const).map((minor) => RELEASES[minor].talos)

/**
 * The id of a schematic without any customization (Image Factory: SHA-256 of `customization: {}`).
 */
export const PLAIN_SCHEMATIC = '376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba'

/**
 * Plans a scenario: datacenter, address and hardware of each server. The first datacenter gets two
 * thirds of the servers.
 */
export const planFleet = (scenario: Scenario, subnetOffset = 0): ServerPlan[] => {
  const random = seeded(`${scenario.seed}/plan`)
  const places = scenario.datacenters.map((code) => PLACES.find((place) => place.code === code)!)
  const counts = share(scenario.servers, places.length)
  const special = scenario.special ?? ownSpecials(counts)
  const shuffled = shuffle(MODEL_NAMES, random)
  const plans: ServerPlan[] = []
  let block = 1 + subnetOffset
  for (const [turn, place] of places.entries()) {
    const count = counts[turn] ?? 0
    for (let within = 0; within < count; within++) {
      const index = plans.length
      const options: ServerOptions = special[String(index + 1)] ?? {}
      const isBare = options.bare ?? index >= scenario.servers - scenario.bare
      const third = block + Math.floor(within / HOSTS_PER_BLOCK)
      if (third > 255) throw new RangeError('127.20.0.0/16 has no room for so many servers')
      const address = `127.20.${third}.${(within % HOSTS_PER_BLOCK) + 1}`
      plans.push({
        index,
        name: `${place.cityCode.toLowerCase()}-${String(within + 1).padStart(count > 99 ? 4 : 2, '0')}`,
        address,
        place: options.datacenter
          ? (PLACES.find(({ code }) => code === options.datacenter) ?? place)
          : place,
        model: options.hardware ?? shuffled[index % shuffled.length] ?? MODEL_NAMES[0],
        talosVersion: options.talos ?? versionOf(scenario, turn, within, count),
        schematic: options.schematic ?? PLAIN_SCHEMATIC,
        slowness: options.slowness ?? 1,
        missingDisks: options.missing_disks ?? false,
        secondNetwork: options.second_network ?? false,
        contents: options.contents ?? {},
        media: options.media ?? [],
        power: options.power ?? (isBare ? 'off' : 'on'),
        isBare,
        bmc: {
          address: bmcAddressOf(address),
          personality: options.bmc?.personality ?? 'plain',
          faults: options.bmc?.faults ?? [],
        },
        installed: options.installed ?? null,
        faults: options.faults ?? [],
        identity: { uuid: options.uuid, serial: options.serial },
        boot: null,
      })
    }
    block += Math.max(1, Math.ceil(count / HOSTS_PER_BLOCK))
  }
  return plans
}

const share = (servers: number, places: number): number[] => {
  if (places === 1) return [servers]
  const first = Math.ceil((servers * 2) / 3)
  const rest = servers - first
  return [
    first,
    ...Array.from(
      { length: places - 1 },
      (_, index) => Math.floor(rest / (places - 1)) + (index < rest % (places - 1) ? 1 : 0),
    ),
  ]
}

const versionOf = (scenario: Scenario, turn: number, within: number, count: number): string => {
  if (scenario.talos) return scenario.talos[within % scenario.talos.length]!
  return turn === 0 || within === count - 1 ? TALOS.at(-1)! : TALOS.at(-2)!
}

/**
 * Default faulty servers of larger fleets: the last two of the first datacenter and the last of the
 * second.
 */
const ownSpecials = (counts: readonly number[]): Record<string, ServerOptions> => {
  const [first = 0, second = 0] = counts
  if (first + second < 12) return {}
  return {
    [first - 1]: { missing_disks: true },
    [first]: { faults: [{ kind: 'fail-install', times: 1 }] },
    ...(second > 0 && { [first + second]: { slowness: 2.5 } }),
  }
}

const shuffle = <T>(items: readonly T[], random: Random): T[] => {
  const copy = [...items]
  for (let index = copy.length - 1; index > 0; index--) {
    const other = random.int(0, index)
    ;[copy[index], copy[other]] = [copy[other]!, copy[index]!]
  }
  return copy
}
