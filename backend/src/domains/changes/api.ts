/** What other domains may call of changes of running clusters. */
import type {
  ClusterChange,
  clusterChange,
  ClusterPlan,
} from '#contract/clusters/changes/changes.ts'
import type { ServerExtensions } from '#contract/clusters/extensions.ts'
import type { Input } from '#contract/operation.ts'
import type { Operation } from '#contract/operations.ts'
import type { Caller } from '../../http/caller.ts'
import type { Also } from '../servers/api.ts'

/** A change that is a part of an act on many servers. */
export interface PartOfMany {
  /** Runs in the transaction that begins the change. */
  readonly also: Also
  /** Ids of the servers that the change may restart, also if it begins days later. */
  readonly chosen: readonly string[]
}

/** Begins a change of a cluster. @throws Problem as `clusterChange` */
export type ClusterRequest = (
  caller: Caller,
  clusterId: string,
  asked: Input<typeof clusterChange>['body'],
  signal: AbortSignal,
  part?: PartOfMany,
) => Promise<{ operation: Operation }>

export interface Changes {
  readonly request: ClusterRequest
  /** What a change would do. @throws Problem as `clusterPlan` */
  readonly plan: (id: string, change: ClusterChange, signal: AbortSignal) => Promise<ClusterPlan>
  /** Extensions and kernel arguments, as `clusterExtensions` answers. */
  readonly extensionsOf: (id: string, signal: AbortSignal) => Promise<ServerExtensions[]>
}
