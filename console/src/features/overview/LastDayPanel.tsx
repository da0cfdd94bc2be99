import type { HistoryDigest } from '#contract/history/digest.ts'
import { historyKinds } from '#contract/history/kinds.ts'
import { counted } from '#contract/words.ts'
import { paths } from '../../lib/paths.ts'
import { exact, moment } from '../../lib/time/time.ts'
import { count } from '../../lib/units.ts'
import { Badge } from '../../ui/feedback/Status.tsx'
import { Panel } from '../../ui/text/Panel.tsx'
import { lastNight, outcomeText } from './last-day.ts'
import css from './LastDay.module.css'
import frame from './Overview.module.css'

/** The others are counted in one line. */
const shownKinds = 9

const pageOf = ({ kind, id, name }: HistoryDigest['groups'][number]['last']['object']) => {
  if (kind === 'datacenter') return paths.datacenters({ q: name })
  return kind === 'cluster' ? paths.cluster(id) : paths.server(id)
}

/** What happened in the last 24 hours, by kind. Each kind leads to its entries. */
export function LastDayPanel({ day }: { day: HistoryDigest }) {
  const { since, groups } = day
  const others = groups.slice(shownKinds)
  const rest = others.reduce((n, group) => n + group.entries, 0)
  return (
    <Panel
      title="Last 24 hours"
      note={
        day.entries > 0 &&
        `${day.is_cut ? 'more than ' : ''}${counted(day.entries, 'entry', 'entries')}`
      }
      flush={groups.length > 0}
      actions={
        <>
          <a href={paths.history(lastNight(day.until))}>Last night</a>
          <a href={paths.history({ since })}>History</a>
        </>
      }
    >
      {groups.length === 0 ? (
        <p className={frame['quiet']}>Nothing happened.</p>
      ) : (
        <ul className={css['day']}>
          {groups.slice(0, shownKinds).map((group) => {
            const { kind, entries, last } = group
            const outcome = outcomeText(group)
            return (
              <li key={kind}>
                <a className={css['kind']} href={paths.history({ since, kind })}>
                  <b className="num">{count(entries)}</b> {historyKinds[kind].title}
                </a>
                <span className={css['outcome']}>
                  {outcome}
                  {group.simulated > 0 && (
                    <Badge
                      title={`${count(group.simulated)} of them made up by the simulation of the demo`}
                    >
                      {group.simulated < group.entries && `${count(group.simulated)} `}simulated
                    </Badge>
                  )}
                </span>
                <p className={css['last']} title={`${last.object.name}: ${last.message}`}>
                  <a href={pageOf(last.object)}>{last.object.name}</a>
                  <span className="clip">{last.message}</span>
                </p>
                <time className="t3 num" dateTime={last.at} title={exact(last.at)}>
                  {moment(last.at)}
                </time>
              </li>
            )
          })}
          {rest > 0 && (
            <li>
              <a className={css['kind']} href={paths.history({ since })}>
                <b className="num">{count(rest)}</b> {rest === 1 ? 'other' : 'others'}
              </a>
              <p className={css['rest']}>
                {others.map(({ kind }) => historyKinds[kind].title).join(', ')}
              </p>
            </li>
          )}
        </ul>
      )}
    </Panel>
  )
}
