import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { type Incident, incidentList } from '#contract/incidents/incidents.ts'
import { query } from '../../api/query.ts'
import { IncidentRow } from '../../layout/incidents/IncidentRow.tsx'
import { severityCounts } from '../../layout/incidents/incident-text.ts'
import { paths } from '../../lib/paths.ts'
import { count } from '../../lib/units.ts'
import { findingTones } from '../../ui/feedback/finding-tones.ts'
import { ErrorState, Skeleton, Stale } from '../../ui/feedback/States.tsx'
import { StatusDot } from '../../ui/feedback/Status.tsx'
import { Icon } from '../../ui/pictures/Icon.tsx'
import { Panel } from '../../ui/text/Panel.tsx'
import css from './Incidents.module.css'
import frame from './Overview.module.css'

/** Rows that are shown; what follows is one folded line. */
const mostRows = 6
/** Incidents that are counted. */
const mostCounted = 500

export const openIncidents = query(incidentList, { query: { per_page: mostCounted } })

/** "2 more need attention: a fan of rack A-03, a backup of Steelyard failed". */
function restSaid(rest: readonly Incident[]): string {
  const isQuiet = rest.every(({ severity }) => severity === 'attention')
  const verb = rest.length === 1 ? 'needs attention' : 'need attention'
  const titles = rest.slice(0, 3).map(({ title }) => title)
  const more = rest.length > titles.length ? ' …' : ''
  return `${count(rest.length)} more ${isQuiet ? verb : ''}: ${titles.join(', ')}${more}`.replace(
    ' :',
    ':',
  )
}

/**
 * What has happened, in the order of effect, each with who has it and what mends it. `silenced`: ids
 * of those that silences hold back, which are only counted.
 */
export function IncidentsPanel({ silenced }: { silenced: readonly string[] }) {
  const { data, error, refetch, isRefetchError, dataUpdatedAt } = useQuery(openIncidents)
  const [isWhole, setWhole] = useState(false)
  const incidents = (data?.items ?? []).filter(({ id }) => !silenced.includes(id))
  const [shown, rest] = [incidents.slice(0, mostRows), incidents.slice(mostRows)]
  const onRetry = () => void refetch()
  return (
    <Panel
      className={frame['first']}
      title="Incidents"
      note={
        incidents.length > 0 && (
          <span className={css['counts']}>
            {severityCounts(incidents).map(({ severity, count: n, word }) => (
              <StatusDot key={severity} tone={findingTones[severity]}>
                <b className="num">{count(n)}</b> {word}
              </StatusDot>
            ))}
          </span>
        )
      }
      flush={data === undefined || incidents.length > 0}
      actions={
        <>
          {silenced.length > 0 && <a href={paths.incidents()}>{count(silenced.length)} silenced</a>}
          <a href={paths.incidents({ ended: 'true', sort: '-ended_at' })}>Ended incidents</a>
        </>
      }
    >
      {isRefetchError && <Stale at={dataUpdatedAt} error={error} onRetry={onRetry} />}
      {data === undefined ? (
        error ? (
          <ErrorState error={error} onRetry={onRetry} />
        ) : (
          <ul className={css['wait']} aria-busy="true">
            {[0, 1, 2].map((n) => (
              <li key={n}>
                <Skeleton width={70} height={18} />
                <Skeleton width={320} height={18} />
              </li>
            ))}
          </ul>
        )
      ) : incidents.length === 0 ? (
        <p className={frame['quiet']}>Nothing needs anybody.</p>
      ) : (
        <>
          <ul aria-label="Open incidents">
            {(isWhole ? incidents : shown).map((incident, n) => (
              <IncidentRow key={incident.id} incident={incident} primary={n === 0} />
            ))}
          </ul>
          {rest.length > 0 && (
            <button
              type="button"
              className={css['fold']}
              aria-expanded={isWhole}
              onClick={() => setWhole(!isWhole)}
            >
              <StatusDot tone={findingTones[rest[0]!.severity]}>
                {isWhole ? 'Fewer' : restSaid(rest)}
              </StatusDot>
              <Icon name={isWhole ? 'chevron-up' : 'chevron-down'} className="right" />
            </button>
          )}
        </>
      )}
    </Panel>
  )
}
