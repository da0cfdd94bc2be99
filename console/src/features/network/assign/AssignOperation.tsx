import { useQuery } from '@tanstack/react-query'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { canCancelOperation, canRetryOperation, hasEnded, operationCancel, type Operation, operationRetry, operationTitle } from '#contract/operations.ts'
import { call } from '../../../api/client.ts'
import { allowed } from '../../../api/session.ts'
import { paths } from '../../../lib/paths.ts'
import { reasonOf } from '../../../lib/reason.ts'
import { both } from '../../../ui/actions.ts'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { Panel } from '../../../ui/text/Panel.tsx'
import { ErrorState, SkeletonRows } from '../../../ui/feedback/States.tsx'
import { Alert, StatusDot } from '../../../ui/feedback/Status.tsx'
import { Timeline } from '../../../ui/feedback/Timeline.tsx'
import { toast } from '../../../ui/feedback/toast.ts'
import frame from '../../../layout/steps.module.css'
import css from './AssignSubnets.module.css'
import { clusterSubnetsOf, operationOne, refreshNetwork } from '../network-queries.ts'
import { subnetSaid } from '../subnet-state.ts'

/** Progress of a running assignment, until the cluster has the wanted subnets. */
export function AssignOperation({ id, cluster, onMore }: { id: string; cluster: Cluster; onMore: () => void }) {
  const { data: operation, error, refetch } = useQuery(operationOne(id))
  const { data: has } = useQuery(clusterSubnetsOf(cluster.id))
  if (operation === undefined) return error ? <ErrorState boxed error={error} onRetry={() => void refetch()} /> : <SkeletonRows rows={8} />
  const act = async (ask: () => Promise<unknown>) => {
    try {
      await ask()
      await Promise.all([refetch(), refreshNetwork()])
    } catch (problem) {
      toast.error(reasonOf(problem))
    }
  }
  return (
    <div className={frame['page']}>
      <h1 className="sr">{operationTitle(operation)}</h1>
      <Outcome operation={operation} cluster={cluster} />
      <div className={css['review']}>
        <Panel
          title={operationTitle(operation)}
          actions={
            <>
              {operation.status === 'failed' && (
                <ActionButton
                  label="Retry"
                  kind="primary"
                  size="small"
                  icon="refresh"
                  can={both(allowed(operationRetry), canRetryOperation(operation))}
                  run={() => act(() => call(operationRetry, { params: { id }, body: {} }))}
                />
              )}
              {!hasEnded(operation) && (
                <ActionButton
                  label="Cancel"
                  size="small"
                  can={both(allowed(operationCancel), canCancelOperation(operation))}
                  run={() => act(() => call(operationCancel, { params: { id } }))}
                />
              )}
            </>
          }
        >
          {operation.steps.length === 0 ? (
            <p className="fs13 t2">Nothing has to be done in the cluster.</p>
          ) : (
            <Timeline
              label={operationTitle(operation)}
              steps={operation.steps.map((s) => ({
                key: s.key,
                title: s.title,
                state: s.status,
                startedAt: s.started_at,
                endedAt: s.ended_at,
                attempt: s.attempt,
                reason: s.status === 'todo' ? null : s.reason,
              }))}
            />
          )}
        </Panel>
        <Panel title={`Subnets of ${cluster.name}`}>
          {has === undefined ? (
            <SkeletonRows rows={2} />
          ) : has.items.length === 0 ? (
            <p className="fs13 t2">None.</p>
          ) : (
            <ul className={css['states']} aria-label={`Subnets of ${cluster.name}`}>
              {has.items.map((s) => (
                <li key={s.id}>
                  <a href={paths.network({ q: s.name, open: s.id })}>{s.name}</a>
                  <span className="mono fs12 t2">{s.cidr}</span>
                  <StatusDot tone={subnetSaid(s).tone}>{subnetSaid(s).word}</StatusDot>
                  {s.reason !== null && <p className="t2">{s.reason}</p>}
                </li>
              ))}
            </ul>
          )}
        </Panel>
      </div>
      <div className={frame['foot']}>
        {/* On a narrow screen only the header's arrow leads back, so that the other buttons have room. */}
        <span className="hide-sm">
          <ActionButton label="Back to Network" to={paths.network({ cluster: cluster.name })} icon="arrow-left" />
        </span>
        <span className="row right">
          <ActionButton label="Change more" kind="ghost" run={onMore} />
          <ActionButton label="Open cluster" kind="primary" to={paths.cluster(cluster.id, 'addresses')} />
        </span>
      </div>
    </div>
  )
}

function Outcome({ operation, cluster }: { operation: Operation; cluster: Cluster }) {
  if (operation.status === 'done') return <Alert tone="ok">Done: the subnets of {cluster.name} are changed as requested.</Alert>
  if (operation.status === 'failed')
    return (
      <Alert tone="danger">
        <b>{operationTitle(operation)} failed.</b> {operation.reason}
      </Alert>
    )
  if (operation.status === 'cancelled') return <Alert tone="info">The operation was cancelled. {operation.reason}</Alert>
  return <Alert tone="info">This page shows the progress. You may leave it: the operation continues, and the list shows its progress.</Alert>
}
