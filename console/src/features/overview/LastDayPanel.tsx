import { useQuery } from '@tanstack/react-query'
import { incidentList } from '#contract/incidents/incidents.ts'
import { operationList } from '#contract/operations.ts'
import { query } from '../../api/query.ts'
import { paths } from '../../lib/paths.ts'
import { exact, moment } from '../../lib/time/time.ts'
import { Skeleton } from '../../ui/feedback/States.tsx'
import { Unread } from '../../ui/feedback/Unread.tsx'
import { Panel } from '../../ui/text/Panel.tsx'
import css from './LastDay.module.css'
import frame from './Overview.module.css'
import { mostSentences, storyOf } from './story.ts'

const ended = query(incidentList, { query: { ended: 'true', sort: '-ended_at', per_page: 20 } })
const operations = query(operationList, { query: { sort: '-created_at', per_page: 50 } })

/** What happened in the last 24 hours, in at most five sentences. `since`: in ISO 8601. */
export function LastDayPanel({ since }: { since: string }) {
  const incidents = useQuery(ended)
  const done = useQuery(operations)
  const isRead = incidents.data !== undefined && done.data !== undefined
  const story = isRead ? storyOf(incidents.data.items, done.data.items, since) : []
  return (
    <Panel
      title="Last 24 hours"
      flush={!isRead || story.length > 0}
      actions={<a href={paths.history({ since })}>History</a>}
    >
      {incidents.isError || done.isError ? (
        <Unread what="What happened" of={incidents.isError ? incidents : done} />
      ) : !isRead ? (
        <ul className={css['story']} aria-busy="true">
          {Array.from({ length: mostSentences }, (_, n) => (
            <li key={n}>
              <Skeleton width={40} height={16} />
              <Skeleton width={320} height={16} />
            </li>
          ))}
        </ul>
      ) : story.length === 0 ? (
        <p className={frame['quiet']}>Nothing happened.</p>
      ) : (
        <ol className={css['story']}>
          {story.map(({ at, subject, to, text }) => (
            <li key={to}>
              <time dateTime={at} title={exact(at)}>
                {moment(at)}
              </time>
              <p>
                <a href={to}>{subject}</a>
                {text}
              </p>
            </li>
          ))}
        </ol>
      )}
    </Panel>
  )
}
