/** Begins a change of a running cluster by the calls and gates of every change. */
import {
  type ClusterChangeInput,
  clusterChange,
  clusterPlan,
  type ClusterPlan,
} from '#contract/clusters/changes/changes.ts'
import {
  hasEnded,
  isScheduled,
  type Operation,
  operationList,
  operationTitle,
} from '#contract/operations.ts'
import { firstFailed, type Refusal, refusalBy } from '#contract/rule.ts'
import { counted } from '#contract/words.ts'
import type { Api } from '../../api/client.ts'
import { withDisks } from '../../commands/confirm-disks.ts'
import { withLosses } from '../../commands/confirm-loss.ts'
import { helps } from '../../commands/cluster-changes/plan-text.ts'
import { CliError } from '../../exit.ts'
import { oneLine, words } from '../../text.ts'
import { patiently } from '../patience.ts'
import type { Run } from '../plan.ts'

/** Why a change can't begin; null if it can. */
export function refusalOf({ checks }: Pick<ClusterPlan, 'checks'>): Refusal | null {
  const failed = firstFailed(checks)
  return failed === undefined ? null : refusalBy(failed)
}

/**
 * The operations on a cluster that have not ended, scheduled ones included. A snapshot changes no
 * server, so it is left out.
 */
export async function openOperations(api: Api, clusterId: string): Promise<Operation[]> {
  const { items } = await api.call(operationList, {
    query: { target: clusterId, status: 'open' },
  })
  return items.filter((one) => one.kind !== 'clusterSnapshot' && !hasEnded(one))
}

/** "Upgrade Kubernetes of web is running: 3 of 12 steps are done". */
export function openText(operation: Operation): string {
  const { steps, status, reason, starts_at } = operation
  const done = steps.filter((s) => s.status === 'done' || s.status === 'skipped').length
  const state = isScheduled(operation)
    ? `is scheduled${starts_at ? ` for ${starts_at}` : ' for the maintenance window'}`
    : `is ${words(status)}: ${done} of ${counted(steps.length, 'step')} ${done === 1 ? 'is' : 'are'} done`
  return `${operationTitle(operation)} ${state}${reason === null ? '' : ` (${reason})`}`
}

/** Registers an operation that the run has started, and follows it with `--wait`. */
export async function followed(
  run: Run,
  clusterName: string,
  operationId: string,
): Promise<'begun' | 'done'> {
  run.begun(clusterName, operationId)
  if (!run.waits) return 'begun'
  await run.wait(operationId)
  return 'done'
}

/**
 * Plans the change again, because earlier lines of the run may have changed the cluster, and begins
 * it. With `seen`, the change is refused if its plan is another than the one that was shown.
 * @throws CliError
 */
export async function beginChange(
  run: Run,
  cluster: { readonly id: string; readonly name: string },
  change: ClusterChangeInput,
  seen: string | null,
): Promise<'begun' | 'done'> {
  const params = { id: cluster.id }
  const planned = async (): Promise<ClusterPlan> => {
    const plan = await run.call(clusterPlan, { params, body: { change } })
    const refused = refusalOf(plan)
    if (refused === null) return plan
    throw new CliError('conflict', refused.reason, {
      hint: helps(cluster.name, plan).map(oneLine).join('. '),
      isForNow: refused.kind === 'for_now',
    })
  }
  const plan = await (run.waits ? patiently(run.context, planned) : planned())
  const { operation } = await withDisks(
    run.context,
    async () => plan.disks,
    run.confirmedDisks,
    (confirmed) =>
      withLosses(run.context, run.confirmedLoss, (losses) =>
        run.call(clusterChange, {
          params,
          body: {
            change,
            seen: seen ?? plan.seen,
            ...(run.start && { start: run.start }),
            ...(confirmed.length > 0 && { confirmed_disks: confirmed }),
            ...losses,
          },
        }),
      ),
  )
  return followed(run, cluster.name, operation.id)
}
