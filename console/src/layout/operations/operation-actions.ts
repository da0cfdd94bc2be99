/** Actions on an operation, for its timeline and ⌘K. */
import { changeTable } from '#contract/clusters/changes/table.ts'
import type { Cluster } from '#contract/clusters/clusters.ts'
import {
  canCancelOperation,
  canRetryOperation,
  hasEnded,
  type Operation,
  operationCancel,
  operationRetry,
  operationRetryDisks,
  operationTitle,
} from '#contract/operations.ts'
import { no, yes } from '#contract/rule.ts'
import { operationResume } from '#contract/restoration.ts'
import { call } from '../../api/client.ts'
import { paths } from '../../lib/paths.ts'
import { reasonOf } from '../../lib/reason.ts'
import { type Action, both, confirm, only } from '../../ui/actions.ts'
import { toast } from '../../ui/feedback/toast.ts'
import { retryWithDisks, showClusterKey } from '../modals.ts'
import { bulkServers } from './bulk-servers.ts'
import { mayChange } from './may-change.ts'
import { refreshOperations } from './operation-queries.ts'
import { cancelText, hasBegun } from './operation-state.ts'

/**
 * Why a failed operation can't be retried: a newer operation of the cluster has begun. A later
 * change of a cluster doesn't continue an earlier one.
 */
export const continued = ({ kind }: Pick<Operation, 'kind'>): string =>
  isClusterChange(kind)
    ? 'Another operation of the cluster has begun since'
    : 'A later operation has continued this operation'

export const isClusterChange = (kind: Operation['kind']): kind is keyof typeof changeTable =>
  Object.hasOwn(changeTable, kind)

/**
 * Whether the operation can be retried: not if a newer operation of the cluster has continued it.
 * @param cluster the operation's cluster, if it still exists
 */
export const isCurrent = (o: Operation, cluster: Cluster | undefined): boolean =>
  cluster === undefined || o.kind === 'clusterSubnetsAssign' || o.id === cluster.operation_id

async function retry(operation: Operation): Promise<void> {
  const { id } = operation
  try {
    const { items } = await call(operationRetryDisks, { params: { id } })
    if (items.length > 0) {
      await retryWithDisks({ operation, disks: items })
      return
    }
    await call(operationRetry, { params: { id }, body: {} })
    await refreshOperations()
  } catch (problem) {
    toast.error(reasonOf(problem))
  }
}

/** Tries again what has ended Steelyard twice. */
async function resume({ id }: Operation): Promise<void> {
  try {
    await call(operationResume, { params: { id } })
    await refreshOperations()
  } catch (problem) {
    toast.error(reasonOf(problem))
  }
}

const cancel = (operation: Operation): Promise<boolean> =>
  confirm({
    title: `Cancel: ${operationTitle(operation)}?`,
    label: 'Cancel operation',
    out: 'Let it continue',
    text: cancelText(operation),
    danger: true,
    act: async () => {
      await call(operationCancel, { params: { id: operation.id } })
      await refreshOperations()
    },
  })

/**
 * Retry of a failed operation, a new plan of a change that stopped, cancel of a running one, or the
 * key of a created cluster. A deletion of a cluster can't be cancelled.
 */
export const operationActions = (o: Operation, cluster: Cluster | undefined): Action[] => [
  ...(o.status === 'done' && o.kind === 'clusterCreate' && cluster !== undefined
    ? [
        {
          label: 'Show cluster key',
          icon: 'key' as const,
          run: () => showClusterKey({ clusterIds: [cluster.id] }),
        },
      ]
    : []),
  ...only(o.kind === 'serverBulk' && hasEnded(o) && o.status !== 'done', {
    label: 'Try the failed again',
    icon: 'refresh',
    can: mayChange(o),
    run: () => bulkServers({ failed: o }),
  }),
  ...only(
    o.kind !== 'serverBulk' && o.status === 'failed' && (hasBegun(o) || !isClusterChange(o.kind)),
    {
      label: 'Retry',
      icon: 'refresh',
      can: both(mayChange(o), canRetryOperation(o), isCurrent(o, cluster) ? yes : no(continued(o))),
      run: () => retry(o),
    },
  ),
  ...(isClusterChange(o.kind) &&
  cluster !== undefined &&
  (o.status === 'cancelled' || o.status === 'failed')
    ? [
        {
          label: 'Plan again',
          icon: 'edit' as const,
          can: mayChange(o),
          to: paths.changeCluster(cluster.id, changeTable[o.kind].change),
        },
      ]
    : []),
  ...(o.kind === 'clusterConfigure' && cluster !== undefined && hasEnded(o) && hasBegun(o)
    ? [
        {
          label: 'Take back',
          icon: 'refresh' as const,
          can: mayChange(o),
          to: paths.changeCluster(cluster.id, 'configure', { takeBack: o.id }),
        },
      ]
    : []),
  ...only(o.halted === true, {
    label: 'Resume',
    icon: 'refresh',
    can: mayChange(o),
    run: () => resume(o),
  }),
  ...only(!hasEnded(o) && o.kind !== 'clusterDelete', {
    label: 'Cancel',
    danger: true,
    can: both(mayChange(o), canCancelOperation(o)),
    run: () => cancel(o),
  }),
]
