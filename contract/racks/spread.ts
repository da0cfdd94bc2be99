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
  /** Number of servers by rack and by chassis. */
  const inside = new Map<string, number>()
  const number = (key: string | null) => (key === null ? 0 : (inside.get(key) ?? 0))
  const add = ({ placement }: Standing) => {
    if (placement)
      for (const key of [placement.rack.id, chassisKey(placement)])
        if (key !== null) inside.set(key, number(key) + 1)
  }
  chosen.forEach(add)
  const rest = [...servers]
  const taken: T[] = []
  const crowd = ({ placement }: T, key: (placement: Placement) => string | null) =>
    placement ? number(key(placement)) : 0
  const isBetter = (one: T, best: T): boolean =>
    (crowd(one, ({ rack }) => rack.id) - crowd(best, ({ rack }) => rack.id) ||
      crowd(one, chassisKey) - crowd(best, chassisKey)) < 0
  while (taken.length < count && rest.length > 0) {
    const next = rest.reduce((best, one) => (isBetter(one, best) ? one : best))
    rest.splice(rest.indexOf(next), 1)
    add(next)
    taken.push(next)
  }
  return taken
}
