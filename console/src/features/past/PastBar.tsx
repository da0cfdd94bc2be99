import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { findingSeverities, type FindingSeverity } from '#contract/findings/kinds.ts'
import type { HistoryEntry } from '#contract/history/history.ts'
import type { Place } from '../../lib/router.ts'
import { serverNow } from '../../lib/time/server-time.ts'
import { exact } from '../../lib/time/time.ts'
import { Button, IconButton } from '../../ui/inputs/Button.tsx'
import { no, yes } from '#contract/rule.ts'
import { dayOf, dayText, minuteOf, minutesIn, onDay, timeAt } from './days.ts'
import css from './Past.module.css'
import { change, marksQuery, stepQueries } from './past-queries.ts'

/** How long the slider rests before the page shows its time, in ms. */
const restMs = 250

const said = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  timeZoneName: 'short',
})
const saidWithYear = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  timeZoneName: 'short',
})
const timeSaid = (at: number): string =>
  (new Date(at).getFullYear() === new Date(serverNow()).getFullYear() ? said : saidWithYear).format(
    at,
  )

const isSeverity = (value: unknown): value is FindingSeverity =>
  (findingSeverities as readonly unknown[]).includes(value)
const severityOf = ({ after }: HistoryEntry): FindingSeverity | null =>
  isSeverity(after['severity']) ? after['severity'] : null

/** The bar of the past: its time, the day around it, and the way back to now. */
export function PastBar({ at, place }: { at: string; place: Place }) {
  const time = Date.parse(at)
  // The end of a day that ends now doesn't move under the pointer.
  const [now] = useState(serverNow)
  const day = dayOf(time, Math.max(now, time))
  const [moved, setMoved] = useState<number | null>(null)
  const shown = moved ?? time
  const go = (to: number) => {
    setMoved(null)
    change(place, { at: new Date(to).toISOString() })
  }
  useEffect(() => {
    if (moved === null) return undefined
    const timer = setTimeout(() => {
      setMoved(null)
      change(place, { at: new Date(moved).toISOString() })
    }, restMs)
    return () => clearTimeout(timer)
  }, [moved, place])
  return (
    <section className={css['bar']} aria-label="As it was">
      <div className={css['when']}>
        <b title={exact(new Date(shown).toISOString())}>As it was on {timeSaid(shown)}</b>
        <input
          type="date"
          className={css['day']}
          aria-label="Day"
          value={dayText(shown)}
          max={dayText(now)}
          onChange={({ target }) => {
            const to = onDay(time, target.value, now)
            if (to !== null) go(to)
          }}
        />
      </div>
      <div className={css['times']}>
        <Step at={at} to="before" go={go} />
        <div className={css['slider']}>
          <input
            type="range"
            aria-label="Time"
            aria-valuetext={timeSaid(shown)}
            min={0}
            max={minutesIn(day)}
            value={minuteOf(day, shown)}
            onChange={({ target }) => setMoved(timeAt(day, Number(target.value)))}
          />
          <Marks from={day.from} to={day.to} />
          <span className={css['first']}>{timeSaid(day.from)}</span>
          <span className={css['last']}>{day.endsNow ? 'now' : timeSaid(day.to)}</span>
        </div>
        <Step at={at} to="after" go={go} />
      </div>
      <Button className={css['back']} onClick={() => change(place, { at: undefined })}>
        Back to now
      </Button>
    </section>
  )
}

const steps = {
  before: { icon: 'chevron-left', label: 'The change before', none: 'Nothing is known of before' },
  after: { icon: 'chevron-right', label: 'The change after', none: 'Nothing changed since' },
} as const

function Step({ at, to, go }: { at: string; to: 'before' | 'after'; go: (to: number) => void }) {
  const { data } = useQuery(stepQueries(at)[to])
  const entry = data?.items[0]
  const { icon, label, none } = steps[to]
  return (
    <IconButton
      icon={icon}
      label={label}
      can={entry === undefined && data !== undefined ? no(none) : yes}
      onClick={() => entry && go(Date.parse(entry.at))}
    />
  )
}

/** Where findings began and operations were requested. */
function Marks({ from, to }: { from: number; to: number }) {
  const findings = useQuery(marksQuery('finding_began', from, to)).data?.items ?? []
  const operations = useQuery(marksQuery('operation_requested', from, to)).data?.items ?? []
  return (
    <span aria-hidden="true">
      {[...operations, ...findings].map((entry) => (
        <i
          key={entry.id}
          className={css['mark']}
          data-severity={severityOf(entry) ?? undefined}
          style={{ left: `${((Date.parse(entry.at) - from) / (to - from)) * 100}%` }}
          title={`${timeSaid(Date.parse(entry.at))} ${entry.object.name}: ${entry.message}`}
        />
      ))}
    </span>
  )
}
