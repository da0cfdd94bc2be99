/** Dependencies of shared patches. */
import type { clusterChange } from '#contract/clusters/changes/changes.ts'
import type { Input } from '#contract/operation.ts'
import type { Operation } from '#contract/operations.ts'
import type { Tx } from '../../../db/db.ts'
import type { Caller } from '../../../http/caller.ts'
import type { Platform } from '../../../platform.ts'
import type { Configurations, LayerStore } from '../../configurations/api.ts'
import type { Operations } from '../../operations/api.ts'
import type { Also, Servers } from '../../servers/api.ts'
import type { Patches } from '../api.ts'
import type { Filling } from './filling.ts'
import type { Definition, SharedPatchRow, SharedStore } from './store.ts'

export interface SharedDomainParts extends Platform {
  readonly patches: Pick<Patches, 'changes' | 'linksOf' | 'save' | 'rollOutSet' | 'shared'>
  readonly servers: Pick<Servers, 'forPlan' | 'locked'>
  readonly clusters: {
    /** Undefined if the cluster doesn't exist. */
    readonly find: (
      on: Tx,
      id: string,
    ) => Promise<
      | {
          readonly name: string
          readonly has_window: boolean
          readonly demandUnheld: (caller: Caller) => void
        }
      | undefined
    >
  }
  readonly configurations: Pick<Configurations, 'rehearse' | 'change'>
  readonly operations: Operations
  /**
   * Begins a change of a cluster. `also` runs in the transaction that begins it; `chosen`: ids of the
   * servers that it may restart. @throws Problem as `clusterChange`
   */
  readonly changeCluster: (
    caller: Caller,
    clusterId: string,
    asked: Input<typeof clusterChange>['body'],
    signal: AbortSignal,
    part: { readonly also: Also; readonly chosen: readonly string[] },
  ) => Promise<{ operation: Operation }>
  /** All layers of a server after a change, for configurations. */
  readonly layers: Pick<LayerStore, 'after'>
}

export interface SharedParts extends SharedDomainParts {
  /** Makes a former patch the wanted one again. */
  readonly restore: (
    tx: Tx,
    caller: Caller,
    patch: SharedPatchRow,
    former: Definition,
    revision: number,
  ) => Promise<void>
  readonly store: SharedStore
  readonly filling: Filling
}
