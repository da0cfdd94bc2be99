import { useQuery } from '@tanstack/react-query'
import { windowText } from '#contract/clusters/changes/window.ts'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { type Operation, operationTitle } from '#contract/operations.ts'
import { operationActions } from '../../../layout/operations/operation-actions.ts'
import { paths } from '../../../lib/paths.ts'
import { until } from '../../../lib/time/time.ts'
import { useNow } from '../../../lib/time/use-now.ts'
import { Unread } from '../../../ui/feedback/Unread.tsx'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { Time } from '../../../ui/table/list-columns.tsx'
import { Panel } from '../../../ui/text/Panel.tsx'
import { openOperationsOf } from '../cluster-queries.ts'
import css from '../page/ClusterPage.module.css'
import { scheduledOf } from './plan.ts'

/**
 * The changes of a cluster that wait for their time or for the maintenance window. Renders nothing
 * if there are none.
 */
export default function ScheduledChanges({ cluster }: { cluster: Cluster }) {
  const answer = useQuery(openOperationsOf(cluster.id))
  const now = useNow(true)
  const waiting = scheduledOf(answer.data?.items ?? [])
  if (waiting.length === 0) return <Unread what="Scheduled changes" of={answer} />
  const isLater = (o: Operation) => Boolean(o.starts_at) && Date.parse(o.starts_at!) > now
  return (
    <Panel title="Scheduled changes" note={`${waiting.length}`}>
      <ul className={css['scheduled']}>
        {waiting.map((o) => (
          <li key={o.id}>
            <a href={paths.operation(o.id)}>{operationTitle(o)}</a>
            <span className="t2">
              {o.starts_at ? (
                <>
                  {o.in_window === true && 'in the first maintenance window after '}
                  <Time at={o.starts_at} />, {until(o.starts_at, now)}
                </>
              ) : (
                'in the maintenance window'
              )}
              {o.created_by !== null && `, requested by ${o.created_by}`}
            </span>
            <span className="row">
              {operationActions(o, cluster).map((action) => (
                <ActionButton key={action.label} {...action} size="small" />
              ))}
            </span>
            {o.reason !== null && !isLater(o) && <p className="t2">{o.reason}</p>}
          </li>
        ))}
      </ul>
      {cluster.maintenance_window && waiting.some((o) => o.in_window === true && isLater(o)) && (
        <p className="fs12 t3">Maintenance window: {windowText(cluster.maintenance_window)}</p>
      )}
    </Panel>
  )
}
