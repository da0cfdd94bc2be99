import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { type Operation, operationTitle } from '#contract/operations.ts'
import { operationOne } from '../../../layout/operations/operation-queries.ts'
import { operationSaid } from '../../../layout/operations/operation-state.ts'
import { OperationTimeline } from '../../../layout/operations/OperationTimeline.tsx'
import { paths } from '../../../lib/paths.ts'
import { Pending } from '../../../ui/feedback/PageStates.tsx'
import { Empty } from '../../../ui/feedback/States.tsx'
import { StatusDot } from '../../../ui/feedback/Status.tsx'
import { Time } from '../../../ui/table/list-columns.tsx'
import { Panel } from '../../../ui/text/Panel.tsx'
import { operationsOf } from '../cluster-queries.ts'
import { shownFirst } from './timeline.ts'
import css from './ClusterPage.module.css'

/**
 * An operation on the cluster, live, and a list of all operations. Shows the operation `chosen` from
 * the URL, if there is one.
 */
export function ClusterTimeline({
  cluster,
  chosen,
}: {
  cluster: Cluster
  chosen: string | undefined
}) {
  const all = useQuery(operationsOf(cluster.id))
  const id = chosen ?? shownFirst(all.data?.items ?? [], cluster.operation_id)
  if (id === undefined) {
    return all.data ? (
      <Empty boxed title="No operation has run on this cluster" />
    ) : (
      <Pending of={all} />
    )
  }
  return (
    <Chosen key={id} id={id} cluster={cluster}>
      {all.data && all.data.total > 1 && (
        <AllOperations
          cluster={cluster}
          current={id}
          operations={all.data.items}
          total={all.data.total}
        />
      )}
    </Chosen>
  )
}

function Chosen({ id, cluster, children }: { id: string; cluster: Cluster; children: ReactNode }) {
  const answer = useQuery(operationOne(id))
  const { data: operation } = answer
  if (operation === undefined || operation.target.id !== cluster.id) {
    return (
      <div className={css['cols']}>
        <div>
          {operation ? (
            <Empty boxed title="This operation does not belong to this cluster" />
          ) : (
            <Pending of={answer} rows={10} />
          )}
        </div>
        <div>{children}</div>
      </div>
    )
  }
  return (
    <OperationTimeline operation={operation} cluster={cluster} saidAbove={cluster.reason}>
      {children}
    </OperationTimeline>
  )
}

/** All operations on the cluster, with links to their timelines. */
function AllOperations({
  cluster,
  current,
  operations,
  total,
}: {
  cluster: Cluster
  current: string
  operations: readonly Operation[]
  total: number
}) {
  return (
    <Panel
      title="Operations"
      note={operations.length < total ? `the newest ${operations.length} of ${total}` : `${total}`}
      actions={
        operations.length < total && (
          <a href={paths.operations({ target: cluster.id })}>All operations</a>
        )
      }
    >
      <ul className={css['operations']}>
        {operations.map((o) => (
          <li key={o.id}>
            <span className="t3">
              <Time at={o.created_at} />
            </span>
            <a
              href={paths.cluster(cluster.id, 'timeline', o.id)}
              aria-current={o.id === current ? 'true' : undefined}
            >
              {operationTitle(o)}
            </a>
            <StatusDot tone={operationSaid(o).tone}>
              {operationSaid(o).word.toLowerCase()}
            </StatusDot>
            {o.reason !== null && <p className="t2">{o.reason}</p>}
          </li>
        ))}
      </ul>
    </Panel>
  )
}
