import type { EtcdCluster } from '../cluster/etcd.ts'
import type { Body } from '../config/shape.ts'
import type { ResourceKind } from './kinds.ts'

/**
 * A change of an object: its state before and after, each null if the object didn't exist at that
 * time.
 */
export interface Change {
  version: number
  kind: Pick<ResourceKind, 'group' | 'plural'>
  namespace: string
  before: Body | null
  after: Body | null
}

/**
 * Minimum number of changes that are kept for watches that start at an earlier version. At most
 * twice as many are kept.
 */
const KEPT = 1_000

/**
 * The last changes of a cluster's objects, in memory. Older changes are dropped, as by a compaction
 * of etcd.
 */
export class History {
  #changes: Change[] = []
  readonly #listeners = new Set<(change: Change) => void>()
  /** Changes up to this version are no longer kept. */
  oldest: number

  constructor(version: number) {
    this.oldest = version
  }

  add(change: Change): void {
    this.#changes.push(change)
    if (this.#changes.length > 2 * KEPT) this.oldest = this.#changes.splice(0, KEPT).at(-1)!.version
    for (const listener of this.#listeners) listener(change)
  }

  /** The changes after a version; null if some of them are no longer kept. */
  after(version: number): Change[] | null {
    if (version < this.oldest) return null
    return this.#changes.filter((change) => change.version > version)
  }

  /** Calls `listener` for each change. Returns a function that removes the listener. */
  listen(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }
}

const histories = new WeakMap<EtcdCluster, History>()

export const historyOf = (cluster: EtcdCluster): History => {
  let found = histories.get(cluster)
  if (!found)
    histories.set(cluster, (found = new History(cluster.state.kubernetes.resourceVersion)))
  return found
}
