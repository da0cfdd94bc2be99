/** The snapshot of etcd that an upgrade takes before it changes anything. */
import * as z from 'zod/mini'

/** Fields of the changes that take a snapshot first. */
export const snapshotFirst = {
  /** False: no snapshot is taken. */
  snapshot: z._default(z.boolean(), true),
  /** Default: the store of the cluster's schedule, otherwise the only store. */
  store_id: z.optional(z.uuid()),
} as const

/** The store of a snapshot, or why there is none. */
export type ChosenStore<S> =
  | { readonly ok: true; readonly store: S }
  | { readonly ok: false; readonly reason: string }

/**
 * The store that a snapshot is written to: the planned one, which was given or is that of the
 * cluster's schedule, or the only one of `stores`.
 */
export function storeOf<S>(planned: S | undefined, stores: readonly S[]): ChosenStore<S> {
  const [only, another] = stores
  const store = planned ?? only
  if (store === undefined)
    return {
      ok: false,
      reason:
        'There is no store yet: an admin can add one, in the console or by steelyard store add',
    }
  return planned === undefined && another !== undefined
    ? { ok: false, reason: 'Choose a store: there are several, and the cluster has no schedule' }
    : { ok: true, store }
}

/** Why an upgrade takes no snapshot, although one is wanted. */
export const unsaved = (reason: string): string =>
  `No snapshot of etcd is taken before the upgrade. ${reason}`

/** The warning about a store whose last use failed. */
export const lastUseFailed = (store: string, problem: string): string =>
  `The last use of the store ${store} failed: ${problem.replace(/\.$/, '')}. If the snapshot can't be taken, nothing is upgraded`
