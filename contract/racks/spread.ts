/** Control planes in different racks: what takes one rack away must not take etcd's majority. */
import { enumerated } from '../words.ts'
import { chassisOf, type Placement, placementSaid } from './placement.ts'

interface Standing {
  readonly name: string
  /** Null or absent if no rack is known. */
  readonly placement?: Placement | null | undefined
}

/** Names of servers that share something. */
interface Group {
  readonly where: string
  readonly names: string[]
}

function grouped(
  servers: readonly Standing[],
  of: (placement: Placement) => { readonly key: string; readonly where: string } | null,
): Group[] {
  const groups = new Map<string, Group>()
  for (const { name, placement } of servers) {
    const at = placement ? of(placement) : null
    if (at === null) continue
    const there = groups.get(at.key)
    if (there) there.names.push(name)
    else groups.set(at.key, { where: at.where, names: [name] })
  }
  return [...groups.values()].filter(({ names }) => names.length > 1)
}

const chassisKey = (placement: Placement): string | null => {
  const chassis = chassisOf(placement)
  return chassis && `${placement.rack.id} ${chassis}`
}
const said = ({ names }: Group): string => `The control planes ${enumerated(names.toSorted())}`

/**
 * A sentence for each rack, and for each chassis, that has several of these control planes.
 * @param controlPlanes all control planes of a cluster
 */
export function sharedRackWarnings(controlPlanes: readonly Standing[]): string[] {
  const tolerated = Math.floor((controlPlanes.length - 1) / 2)
  const racks = grouped(controlPlanes, ({ rack }) => ({ key: rack.id, where: rack.name }))
  const chassis = grouped(controlPlanes, (placement) => {
    const key = chassisKey(placement)
    return key === null ? null : { key, where: placementSaid({ ...placement, bay: null }) }
  })
  return [
    ...racks.map(
      (group) =>
        `${said(group)} are in rack ${group.where}: ${
          group.names.length > tolerated
            ? 'without this rack etcd loses its majority, and the cluster is down'
            : 'they are lost with it'
        }.`,
    ),
    ...chassis.map(
      (group) =>
        `${said(group)} are in one chassis (${group.where}): they share its power supplies.`,
    ),
  ]
}

/**
 * The first `count` servers, in their order, but from as many racks as possible, and in a rack from
 * as many chassis as possible. A server whose rack isn't known counts as one in a rack of its own.
 * @param count number of servers
 * @param chosen servers that are chosen already
 */
export function spreadOverRacks<T extends Standing>(
  servers: readonly T[],
  count: number,
  chosen: readonly Standing[] = [],
): T[] {
  // In a rack, a server comes after as many of its chassis as are taken before it; of all, after as
  // many of its rack. So two stable sorts take the same servers as a search for the best next one,
  // which would look at all servers for each that it takes.
  const byCrowd = (all: readonly T[], keyOf: (placement: Placement) => string | null): T[] => {
    const inside = new Map<string, number>()
    /** Number of servers before this one at its place. */
    const crowd = ({ placement }: Standing): number => {
      const key = placement ? keyOf(placement) : null
      if (key === null) return 0
      const before = inside.get(key) ?? 0
      inside.set(key, before + 1)
      return before
    }
    for (const one of chosen) crowd(one)
    return all
      .map((one) => ({ one, before: crowd(one) }))
      .toSorted((a, b) => a.before - b.before)
      .map(({ one }) => one)
  }
  return byCrowd(byCrowd(servers, chassisKey), ({ rack }) => rack.id).slice(0, count)
}
