import { type UseQueryOptions, useQuery } from '@tanstack/react-query'
import { type ReactNode, Suspense, useMemo, useState } from 'react'
import { history as historyEntries, historyList } from '#contract/history/history.ts'
import { dayMs, quarterMs } from '#contract/measurements/measurements.ts'
import { query } from '../../api/query.ts'
import { serverNow } from '../../lib/time/server-time.ts'
import type { ChartUnit } from '../../ui/charts/chart-text.ts'
import type { ChartLine } from '../../ui/charts/Chart.tsx'
import { Alert } from '../../ui/feedback/Status.tsx'
import { ErrorState, Skeleton, Stale } from '../../ui/feedback/States.tsx'
import { Select } from '../../ui/inputs/Choices.tsx'
import { part } from '../../ui/part.tsx'
import { Panel } from '../../ui/text/Panel.tsx'
import { momentsOf } from './moments.ts'
import { Moments } from './Moments.tsx'
import css from './UsageOverTime.module.css'

const Chart = part(() => import('../../ui/charts/Chart.tsx'))

const ranges = [
  { value: 'day', text: 'Last 24 hours', days: 1 },
  { value: 'week', text: 'Last 7 days', days: 7 },
  { value: 'month', text: 'Last 30 days', days: 30 },
  { value: 'year', text: 'Last year', days: 365 },
] as const
type Range = (typeof ranges)[number]['value']

/** Values of an object over time, as the calls of the API answer. */
interface Measured<Name extends string> {
  readonly starts_at: string
  readonly step_seconds: number
  readonly simulated_before: string | null
  readonly series: readonly {
    readonly name: Name
    readonly unit: ChartUnit
    readonly mean: (number | null)[]
    readonly max: (number | null)[]
  }[]
}

/** A chart of one or two series with the same unit. */
export interface UsageChart<Name extends string> {
  readonly title: string
  /** The words of each series. */
  readonly of: Readonly<Partial<Record<Name, string>>>
}

/** Whose charts they are. */
export interface UsageSubject {
  readonly id: string
  /** Which entries of the history are marked. */
  readonly history: { readonly object: string } | { readonly cluster: string }
  /** The page of the history of a period in ISO 8601. */
  readonly historyOf: (period: { since: string; until: string }) => string
}

interface UsageProps<Name extends string, Answer extends Measured<Name>> {
  /** The query of the values from this time on, by default of a day. */
  of: (from: string | undefined) => Pick<UseQueryOptions<Answer>, 'queryKey' | 'queryFn'>
  charts: readonly UsageChart<Name>[]
  /** Shown above the charts. */
  above?: (measured: Answer) => ReactNode
  /** Shown if nothing was measured that the charts draw. */
  nothing: ReactNode
  subject: UsageSubject
}

/** A chart of what was measured for the first time an hour ago isn't a dot at its right edge. */
const fewestSteps = 60

/** Without the steps before the first value. */
function sinceFirst<Name extends string>({
  starts_at,
  step_seconds,
  series,
}: Measured<Name>): Pick<Measured<Name>, 'starts_at' | 'series'> {
  const steps = series[0]!.mean.length
  const first = Math.min(
    ...series.map(({ mean }) => mean.findIndex((value) => value !== null)).filter((i) => i >= 0),
  )
  const cut = Math.max(0, Math.min(first, steps - fewestSteps))
  return {
    starts_at: new Date(Date.parse(starts_at) + cut * step_seconds * 1000).toISOString(),
    series: series.map((one) => ({ ...one, mean: one.mean.slice(cut), max: one.max.slice(cut) })),
  }
}

/** Whether the charts would draw no value. */
const isEmpty = <Name extends string>(
  { series }: Measured<Name>,
  charts: readonly UsageChart<Name>[],
): boolean => {
  const drawn = new Set(charts.flatMap(({ of }) => Object.keys(of)))
  return series.every(({ name, mean }) => !drawn.has(name) || mean.every((one) => one === null))
}

const refetchMs = 60_000
const hourMs = 3_600_000
const hourOf = (iso: string): string =>
  new Date(Math.floor(Date.parse(iso) / hourMs) * hourMs).toISOString()

/** Charts of what was measured of an object, over a period that a user chooses. */
export function UsageOverTime<Name extends string, Answer extends Measured<Name>>({
  of,
  charts,
  above,
  nothing,
  subject,
}: UsageProps<Name, Answer>) {
  const [{ range, from }, setPeriod] = useState<{ range: Range; from?: string }>({ range: 'day' })
  // The call gives a day by itself, up to now. Longer periods begin at a fixed moment, so that their
  // data isn't fetched at each render.
  const choose = (value: Range) => {
    const { days } = ranges.find((one) => one.value === value)!
    const start = Math.floor(serverNow() / quarterMs) * quarterMs - days * dayMs
    setPeriod(days === 1 ? { range: value } : { range: value, from: new Date(start).toISOString() })
  }
  const { data, dataUpdatedAt, error, isRefetchError, refetch } = useQuery({
    ...of(from),
    refetchInterval: refetchMs,
  })
  return (
    <>
      <div className="toolbar">
        <Select
          aria-label="Period"
          value={range}
          options={ranges.map(({ value, text }) => ({ value, text }))}
          onValue={choose}
        />
      </div>
      <Panel label="Usage">
        {data === undefined ? (
          error ? (
            <ErrorState error={error} onRetry={() => void refetch()} />
          ) : (
            <Outlines charts={charts} />
          )
        ) : (
          <div className="stack">
            {isRefetchError && (
              <Stale at={dataUpdatedAt} error={error} onRetry={() => void refetch()} />
            )}
            {data.simulated_before !== null && (
              <Alert tone="info">
                What lies before this demo began was made up by the simulation.
              </Alert>
            )}
            {above?.(data)}
            {isEmpty(data, charts) ? (
              nothing
            ) : (
              <Charts data={data} charts={charts} subject={subject} />
            )}
          </div>
        )}
      </Panel>
    </>
  )
}

const Outlines = ({ charts }: { charts: readonly { readonly title: string }[] }) => (
  <div className={css['grid']} aria-busy="true">
    {charts.map(({ title }) => (
      <Skeleton key={title} width="100%" height={196} />
    ))}
  </div>
)

/** The entries of the history that one answer has at most. */
const mostEntries = historyEntries.mostPerPage

function Charts<Name extends string>({
  data,
  charts,
  subject,
}: {
  data: Measured<Name>
  charts: readonly UsageChart<Name>[]
  subject: UsageSubject
}) {
  const { drawn, startsAt, to } = useMemo(() => {
    const { starts_at, series } = sinceFirst(data)
    return {
      startsAt: starts_at,
      to: Date.parse(starts_at) + series[0]!.mean.length * data.step_seconds * 1000,
      drawn: charts.map(({ title, of }) => {
        const lines = Object.entries(of).map(([name, text]): ChartLine & { unit: ChartUnit } => {
          const { unit, mean, max } = series.find((one) => one.name === name)!
          return { title: text as string, unit, mean, max }
        })
        return { title, unit: lines[0]!.unit, lines }
      }),
    }
  }, [data, charts])
  const { id, history, historyOf } = subject
  const entries = useQuery({
    ...query(historyList, {
      // By the hour, so that the entries aren't read anew as often as the values.
      query: { ...history, since: hourOf(startsAt), per_page: mostEntries },
    }),
    refetchInterval: refetchMs,
  })
  const moments = useMemo(() => momentsOf(entries.data?.items ?? [], id), [entries.data, id])
  return (
    <Suspense fallback={<Outlines charts={charts} />}>
      {entries.isError && (
        <ErrorState error={entries.error} onRetry={() => void entries.refetch()} boxed />
      )}
      {entries.data?.next != null && (
        <p className="fs12 t3">Only the newest moments of the history are marked.</p>
      )}
      <Moments
        moments={moments}
        period={{ from: Date.parse(startsAt), to }}
        historyOf={historyOf}
      />
      <div className={css['grid']}>
        {drawn.map((chart) => (
          <Chart
            key={chart.title}
            {...chart}
            startsAt={startsAt}
            stepSeconds={data.step_seconds}
            moments={moments}
          />
        ))}
      </div>
    </Suspense>
  )
}
