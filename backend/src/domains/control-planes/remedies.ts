/** Which change settles a problem of a cluster, for plans and for the health. Pure functions. */
import type { Remedy } from '#contract/clusters/changes/remedies.ts'
import { listed } from '../../sentences.ts'

interface Named {
  readonly node_id: string | null
  readonly name: string
}

/**
 * A change that settles a problem of these servers. The user chooses the server if it is not
 * exactly one.
 */
export function remedy(change: Remedy['change'], about: readonly Named[] = []): Remedy {
  const one = about.length === 1 && about[0]!.node_id !== null ? about[0]! : null
  return { change, node_id: one?.node_id ?? null, name: one?.name ?? null }
}

/** How many servers are named, each with a change of its own. */
const mostNamed = 3

/** The change for each of these servers, because it is about one server at a time. */
export function remedyForEach(change: Remedy['change'], about: readonly Named[]): Remedy[] {
  const known = about.filter(({ node_id }) => node_id !== null).slice(0, mostNamed)
  return known.length === 0 ? [remedy(change)] : known.map((one) => remedy(change, [one]))
}

/**
 * What to do about an etcd that is full (alarm NOSPACE). Only a defragmentation ends that; each
 * member pauses meanwhile, so all others must be healthy. A removal by force works without space:
 * members leave by a message of raft, and etcd still deletes keys (etcd, "Maintenance", "Space
 * quota").
 * @param ill the members that are not healthy, and whether their machines answer
 */
export function settleFull(ill: readonly (Named & { readonly answers: boolean })[]): {
  todo: string
  remedies: Remedy[]
} {
  if (ill.length === 0) return { todo: 'defragment etcd', remedies: [remedy('defragment')] }
  const names = listed(ill.map((m) => m.name))
  if (ill.some((m) => m.answers))
    return { todo: `bring ${names} back, then defragment etcd`, remedies: [] }
  return {
    todo: `bring ${names} back, or remove ${ill.length === 1 ? 'it' : 'them'} by force, then defragment etcd`,
    remedies: [remedy('shrink', ill)],
  }
}
