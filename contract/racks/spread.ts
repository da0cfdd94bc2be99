/** Control planes in different racks: what takes one rack away must not take etcd's majority. */
import { enumerated } from '../words.ts'
import type { Placement } from './placing.ts'

interface Standing {
  readonly name: string
  /** Null or absent if no rack is known. */
  readonly placement?: Pick<Placement, 'rack'> | null | undefined
}

/**
 * A sentence for each rack that has several of these control planes.
 * @param controlPlanes all control planes of a cluster
 */
export function sharedRackWarnings(controlPlanes: readonly Standing[]): string[] {
  const byRack = new Map<string, { rack: string; names: string[] }>()
  for (const { name, placement } of controlPlanes) {
    if (!placement) continue
    const { id, name: rack } = placement.rack
    const there = byRack.get(id)
    if (there) there.names.push(name)
    else byRack.set(id, { rack, names: [name] })
  }
  const tolerated = Math.floor((controlPlanes.length - 1) / 2)
  return [...byRack.values()].flatMap(({ rack, names }) =>
    names.length < 2
      ? []
      : [
          `The control planes ${enumerated(names.toSorted())} are in rack ${rack}: ${
            names.length > tolerated
              ? 'without this rack etcd loses its majority, and the cluster is down'
              : 'they are lost with it'
          }.`,
        ],
  )
}

/**
 * The first `count` servers, in their order, but from as many racks as possible. A server whose
 * rack isn't known counts as one in a rack of its own.
 * @param count number of servers
 * @param chosen servers that are chosen already
 */
export function spreadOverRacks<T extends Standing>(
  servers: readonly T[],
  count: number,
  chosen: readonly Standing[] = [],
): T[] {
  const inRack = new Map<string, number>()
  const add = ({ placement }: Standing) => {
    if (placement) inRack.set(placement.rack.id, (inRack.get(placement.rack.id) ?? 0) + 1)
  }
  chosen.forEach(add)
  const rest = [...servers]
  const taken: T[] = []
  while (taken.length < count && rest.length > 0) {
    const crowd = ({ placement }: T) => (placement ? (inRack.get(placement.rack.id) ?? 0) : 0)
    const next = rest.reduce((best, one) => (crowd(one) < crowd(best) ? one : best))
    rest.splice(rest.indexOf(next), 1)
    add(next)
    taken.push(next)
  }
  return taken
}
