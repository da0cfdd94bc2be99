import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { noValue } from '#contract/list.ts'
import { overviewGet, type Overview as Shape } from '#contract/overview.ts'
import { query } from '../../api/query.ts'
import { paths } from '../../lib/paths.ts'
import { count } from '../../lib/units.ts'
import { Panel } from '../../ui/text/Panel.tsx'
import { ErrorState, SkeletonRows, Stale } from '../../ui/feedback/States.tsx'
import { CapacityPanel } from './CapacityPanel.tsx'
import { FirstSteps } from './FirstSteps.tsx'
import { LastDayPanel } from './LastDayPanel.tsx'
import css from './Overview.module.css'
import { IncidentsPanel } from './IncidentsPanel.tsx'
import { FailuresPanel, RunningPanel, SubnetsPanel } from './OverviewPanels.tsx'

export const overviewQuery = () => query(overviewGet)

const dayBefore = (ms: number): string => new Date(ms - 24 * 3_600_000).toISOString()

/** The servers in one line, of which each is counted once. */
function Fleet({ servers }: Pick<Shape, 'servers'>) {
  const parts = [
    { n: servers.in_clusters, text: 'in clusters', to: paths.servers({ status: 'ready' }) },
    { n: servers.free, text: 'free', to: paths.servers({ cluster: noValue }) },
    { n: servers.quarantined, text: 'in quarantine', to: paths.servers({ quarantine: 'true' }) },
  ].filter(({ n }) => n > 0)
  return (
    <p className={css['fleet']}>
      <a href={paths.servers()}>
        <b className="num">{count(servers.total)}</b> {servers.total === 1 ? 'server' : 'servers'}
      </a>
      {parts.map(({ n, text, to }) => (
        <a key={text} href={to}>
          <b className="num">{count(n)}</b> {text}
        </a>
      ))}
    </p>
  )
}

/**
 * What needs somebody, what happened, what runs, what is free and what there is. Every number links
 * to its list.
 */
export function Overview() {
  const { data, error, refetch, dataUpdatedAt } = useQuery(overviewQuery())
  if (data === undefined)
    return (
      <Panel flush>
        {error ? (
          <ErrorState error={error} onRetry={() => void refetch()} />
        ) : (
          <SkeletonRows rows={10} />
        )}
      </Panel>
    )
  // A fresh installation shows the first steps without empty panels.
  const isFresh = data.servers.total === 0
  /** A part that could not be read says so in its place. */
  function part<Part>(title: string, of: Part | null, show: (of: Part) => ReactNode): ReactNode {
    if (of !== null) return show(of)
    return (
      <Panel title={title} flush>
        <ErrorState error={new Error('It could not be read.')} onRetry={() => void refetch()} />
      </Panel>
    )
  }
  return (
    <>
      {error && <Stale at={dataUpdatedAt} error={error} onRetry={() => void refetch()} />}
      {!isFresh && <IncidentsPanel silenced={data.attention?.silenced_incidents ?? []} />}
      <FirstSteps data={data} />
      {!isFresh && (
        <div className={css['grid']}>
          <LastDayPanel since={data.last_day?.since ?? dayBefore(dataUpdatedAt)} />
          <div className={css['side']}>
            {part('Running', data.running, (of) => (
              <RunningPanel operations={of} />
            ))}
            {part('Last failures', data.failures, (of) => (
              <FailuresPanel operations={of} />
            ))}
          </div>
        </div>
      )}
      <div className={css['grid']}>
        {!(isFresh && data.capacity.length === 0) && <CapacityPanel capacity={data.capacity} />}
        {!isFresh && part('Fullest subnets', data.subnets, (of) => <SubnetsPanel subnets={of} />)}
      </div>
      {!isFresh && <Fleet servers={data.servers} />}
    </>
  )
}
