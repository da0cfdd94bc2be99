import { useQuery } from '@tanstack/react-query'
import { windowText } from '#contract/clusters/changes/window.ts'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { operationTitle } from '#contract/operations.ts'
import { operationActions } from '../../../layout/operations/operation-actions.ts'
import { paths } from '../../../lib/paths.ts'
import { exact, until } from '../../../lib/time/time.ts'
import { useNow } from '../../../lib/time/use-now.ts'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { Panel } from '../../../ui/text/Panel.tsx'
import { operationsOf } from '../cluster-queries.ts'
import css from '../page/ClusterPage.module.css'
import { scheduledOf } from './plan.ts'

/** The changes of a cluster that wait for their time or for the maintenance window. Renders nothing if there are none. */
export default function ScheduledChanges({ cluster }: { cluster: Cluster }) {
  const { data } = useQuery(operationsOf(cluster.id))
  const now = useNow(true)
  const waiting = scheduledOf(data?.items ?? [])
  if (waiting.length === 0) return null
  return (
    <Panel title="Scheduled changes" note={`${waiting.length}`}>
      <ul className={css['scheduled']}>
        {waiting.map((o) => (
          <li key={o.id}>
            <a href={paths.operation(o.id)}>{operationTitle(o)}</a>
            <span className="t2">
              {o.starts_at ? (
                <time dateTime={o.starts_at} title={exact(o.starts_at)}>
                  {until(o.starts_at, now)}
                </time>
              ) : (
                'in the maintenance window'
              )}
              {o.starts_at && o.in_window === true && ', in the maintenance window'}
              {o.created_by !== null && `, requested by ${o.created_by}`}
            </span>
            <span className="row">
              {operationActions(o, cluster).map((action) => (
                <ActionButton key={action.label} {...action} size="small" />
              ))}
            </span>
            {o.reason !== null && <p className="t2">{o.reason}</p>}
          </li>
        ))}
      </ul>
      {cluster.maintenance_window && <p className="fs12 t3">Maintenance window: {windowText(cluster.maintenance_window)}</p>}
    </Panel>
  )
}
