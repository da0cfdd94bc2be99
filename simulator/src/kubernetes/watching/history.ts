import type { EtcdCluster } from '../../cluster/etcd.ts'
import type { ResourceKind } from '../kinds.ts'

type Body = Record<string, unknown>

/** A change of an object: its state before and after, null if it didn't or doesn't exist. */
export interface Change {
  version: number
  kind: Pick<ResourceKind, 'group' | 'plural'>
  namespace: string
  before: Body | null
  after: Body | null
}

/** Minimum number of kept changes, for watches from an earlier version. At most twice as many are kept. */
const KEPT = 1_000

/** The last changes of a cluster's objects, in memory. Older ones are gone, as after a compaction of etcd. */
export class History {
  #changes: Change[] = []
  readonly #listeners = new Set<(change: Change) => void>()
  /** Changes up to this version are gone. */
  #compacted: number

  constructor(version: number) {
    this.#compacted = version
  }

  add(change: Change): void {
    this.#changes.push(change)
    if (this.#changes.length > 2 * KEPT) this.#compacted = this.#changes.splice(0, KEPT).at(-1)!.version
    for (const listener of this.#listeners) listener(change)
  }

  /** The changes after a version; null if some are gone. */
  after(version: number): Change[] | null {
    if (version < this.#compacted) return null
    return this.#changes.filter((change) => change.version > version)
  }

  /** Calls `listener` for each change. Returns a function that stops it. */
  listen(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  get oldest(): number {
    return this.#compacted
  }
}

const histories = new WeakMap<EtcdCluster, History>()

export const historyOf = (cluster: EtcdCluster): History => {
  let found = histories.get(cluster)
  if (!found) histories.set(cluster, (found = new History(cluster.state.kubernetes.resourceVersion)))
  return found
}
