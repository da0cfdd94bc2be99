import { useQuery } from '@tanstack/react-query'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { type Operation, operationTitle } from '#contract/operations.ts'
import { operationOne } from '../../../layout/operations/operation-queries.ts'
import { OperationTimeline } from '../../../layout/operations/OperationTimeline.tsx'
import frame from '../../../layout/steps.module.css'
import { paths } from '../../../lib/paths.ts'
import { Pending } from '../../../ui/feedback/PageStates.tsx'
import { SkeletonRows } from '../../../ui/feedback/States.tsx'
import { Alert, StatusDot } from '../../../ui/feedback/Status.tsx'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { Panel } from '../../../ui/text/Panel.tsx'
import css from './AssignSubnets.module.css'
import { clusterSubnetsOf } from '../network-queries.ts'
import { subnetSaid } from '../subnet-state.ts'

/** Progress of a running assignment, until the cluster has the wanted subnets. */
export function AssignOperation({
  id,
  cluster,
  onMore,
}: {
  id: string
  cluster: Cluster
  onMore: () => void
}) {
  const answer = useQuery(operationOne(id))
  const { data: operation } = answer
  const { data: has } = useQuery(clusterSubnetsOf(cluster.id))
  if (operation === undefined) return <Pending of={answer} />
  return (
    <div className={frame['page']}>
      <h1 className="sr">{operationTitle(operation)}</h1>
      <Outcome operation={operation} cluster={cluster} />
      <OperationTimeline operation={operation} cluster={cluster} saidAbove={operation.reason}>
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
      </OperationTimeline>
      <div className={frame['foot']}>
        {/* On a narrow screen only the header's arrow leads back, so that the other buttons have room. */}
        <span className="hide-sm">
          <ActionButton
            label="Back to Network"
            to={paths.network({ cluster: cluster.name })}
            icon="arrow-left"
          />
        </span>
        <span className="row right">
          <ActionButton label="Change more" kind="ghost" run={onMore} />
          <ActionButton
            label="Open cluster"
            kind="primary"
            to={paths.cluster(cluster.id, 'addresses')}
          />
        </span>
      </div>
    </div>
  )
}

function Outcome({ operation, cluster }: { operation: Operation; cluster: Cluster }) {
  if (operation.status === 'done')
    return <Alert tone="ok">Done: the subnets of {cluster.name} are changed as requested.</Alert>
  if (operation.status === 'failed')
    return (
      <Alert tone="danger">
        <b>{operationTitle(operation)} failed.</b> {operation.reason}
      </Alert>
    )
  if (operation.status === 'cancelled')
    return <Alert tone="info">The operation was cancelled. {operation.reason}</Alert>
  return (
    <Alert tone="info">
      This page shows the progress. You may leave it: the operation continues, and the list shows
      its progress.
    </Alert>
  )
}
