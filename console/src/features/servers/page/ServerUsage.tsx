import { useQuery } from '@tanstack/react-query'
import { Suspense, useMemo, useState } from 'react'
import {
  dayMs,
  type Measurements,
  quarterMs,
  serverMeasurements,
  serverSeries,
  type ServerSeries,
} from '#contract/measurements/measurements.ts'
import type { Server } from '#contract/servers/servers.ts'
import { query } from '../../../api/query.ts'
import type { ChartUnit } from '../../../ui/charts/chart-text.ts'
import type { ChartLine } from '../../../ui/charts/Chart.tsx'
import { Empty, ErrorState, Skeleton, Stale } from '../../../ui/feedback/States.tsx'
import { Select } from '../../../ui/inputs/Choices.tsx'
import { part } from '../../../ui/part.tsx'
import { Panel } from '../../../ui/text/Panel.tsx'
import css from './ServerUsage.module.css'

const Chart = part(() => import('../../../ui/charts/Chart.tsx'))

const ranges = [
  { value: 'day', text: 'Last 24 hours', days: 1 },
  { value: 'week', text: 'Last 7 days', days: 7 },
  { value: 'month', text: 'Last 30 days', days: 30 },
  { value: 'year', text: 'Last year', days: 365 },
] as const
type Range = (typeof ranges)[number]['value']

const charts = [
  { title: serverSeries.cpu.title, of: { cpu: serverSeries.cpu.title } },
  { title: serverSeries.memory.title, of: { memory: serverSeries.memory.title } },
  { title: 'Disks', of: { disk_read: 'Read', disk_written: 'Written' } },
  { title: 'Links', of: { received: serverSeries.received.title, sent: serverSeries.sent.title } },
] as const satisfies readonly { title: string; of: Partial<Record<ServerSeries, string>> }[]

/** A chart of what was measured for the first time an hour ago isn't a dot at its right edge. */
const fewestSteps = 60

/** Without the steps before the first value. */
function sinceFirst(
  measured: Pick<Measurements, 'starts_at' | 'step_seconds' | 'series'>,
): typeof measured {
  const { starts_at, step_seconds, series } = measured
  const steps = series[0]!.mean.length
  const first = Math.min(
    ...series.map(({ mean }) => mean.findIndex((value) => value !== null)).filter((i) => i >= 0),
  )
  const cut = Math.max(0, Math.min(first, steps - fewestSteps))
  return {
    starts_at: new Date(Date.parse(starts_at) + cut * step_seconds * 1000).toISOString(),
    step_seconds,
    series: series.map((one) => ({ ...one, mean: one.mean.slice(cut), max: one.max.slice(cut) })),
  }
}

const refetchMs = 60_000

/** How much of a server is in use over time. */
export default function ServerUsage({ server }: { server: Pick<Server, 'id' | 'cluster'> }) {
  const [{ range, from }, setPeriod] = useState<{ range: Range; from?: string }>({ range: 'day' })
  // The call gives a day by itself, up to now. Longer periods begin at a fixed moment, so that their
  // data isn't fetched at each render.
  const choose = (value: Range) => {
    const { days } = ranges.find((one) => one.value === value)!
    const start = Math.floor(Date.now() / quarterMs) * quarterMs - days * dayMs
    setPeriod(days === 1 ? { range: value } : { range: value, from: new Date(start).toISOString() })
  }
  const { data, dataUpdatedAt, error, isRefetchError, refetch } = useQuery({
    ...query(serverMeasurements, { params: { id: server.id }, query: { from } }),
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
            <Outlines />
          )
        ) : (
          <>
            {isRefetchError && (
              <Stale at={dataUpdatedAt} error={error} onRetry={() => void refetch()} />
            )}
            {data.series.every(({ mean }) => mean.every((value) => value === null)) ? (
              <Nothing isMember={server.cluster !== null} />
            ) : (
              <Charts data={data} />
            )}
          </>
        )}
      </Panel>
    </>
  )
}

const Outlines = () => (
  <div className={css['grid']} aria-busy="true">
    {charts.map(({ title }) => (
      <Skeleton key={title} width="100%" height={196} />
    ))}
  </div>
)

const Nothing = ({ isMember }: { isMember: boolean }) => (
  <Empty
    title="Nothing was measured in this period"
    text={
      isMember
        ? 'Steelyard reads the server once a minute. The first values of processors, disks and links come after two minutes.'
        : 'Steelyard measures servers that run in a cluster. In maintenance mode Talos does not tell how much is in use.'
    }
  />
)

function Charts({ data }: { data: Measurements }) {
  const { drawn, startsAt } = useMemo(() => {
    const { starts_at, series } = sinceFirst(data)
    return {
      startsAt: starts_at,
      drawn: charts.map(({ title, of }) => {
        const lines = Object.entries(of).map(([name, text]): ChartLine & { unit: ChartUnit } => {
          const { unit, mean, max } = series.find((one) => one.name === name)!
          return { title: text, unit, mean, max }
        })
        return { title, unit: lines[0]!.unit, lines }
      }),
    }
  }, [data])
  return (
    <Suspense fallback={<Outlines />}>
      <div className={css['grid']}>
        {drawn.map((chart) => (
          <Chart key={chart.title} {...chart} startsAt={startsAt} stepSeconds={data.step_seconds} />
        ))}
      </div>
    </Suspense>
  )
}
