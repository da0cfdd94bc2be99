import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import {
  type CapacityMeasurements,
  capacityMeasurements,
  type CapacitySeries,
} from '#contract/measurements/measurements.ts'
import { query } from '../../api/query.ts'
import { moment } from '../../lib/time/time.ts'
import Chart from '../../ui/charts/Chart.tsx'
import { ErrorState, Skeleton } from '../../ui/feedback/States.tsx'
import { Badge } from '../../ui/feedback/Status.tsx'
import css from './CapacityTrend.module.css'

const shown = [
  { name: 'units_in_clusters', title: 'In clusters' },
  { name: 'units_free', title: 'Free' },
] as const satisfies readonly { name: CapacitySeries; title: string }[]

/** Without the days before the first value. */
function linesOf({ starts_at, step_seconds, series }: CapacityMeasurements) {
  const all = shown.map(({ name, title }) => ({
    title,
    mean: series.find((one) => one.name === name)?.mean ?? [],
  }))
  const first = Math.max(
    0,
    all[0]!.mean.findIndex((value) => value !== null),
  )
  return {
    startsAt: new Date(Date.parse(starts_at) + first * step_seconds * 1000).toISOString(),
    lines: all.map(({ title, mean }) => {
      const known = mean.slice(first).map((value) => (value === null ? null : Math.round(value)))
      // One value per day: its mean.
      return { title, mean: known, max: known }
    }),
  }
}

/** Compute units in clusters and free ones, day by day in the last 30 days. */
export default function CapacityTrend() {
  const { data, error, refetch } = useQuery({
    ...query(capacityMeasurements, { query: { step: 'day' as const } }),
    // A day changes slowly, and a new one begins at midnight.
    staleTime: 600_000,
  })
  const drawn = useMemo(() => data && linesOf(data), [data])
  if (data === undefined || drawn === undefined)
    return error ? (
      <ErrorState error={error} onRetry={() => void refetch()} />
    ) : (
      <div className={css['trend']} aria-busy="true">
        <Skeleton width="100%" height={196} />
      </div>
    )
  const days = drawn.lines[0]!.mean.filter((value) => value !== null).length
  return (
    <div className={css['trend']}>
      {days < 2 ? (
        <p className={css['quiet']}>Its trend is drawn when it was measured for two days.</p>
      ) : (
        <>
          <Chart
            title="Compute units"
            unit="count"
            startsAt={drawn.startsAt}
            stepSeconds={data.step_seconds}
            lines={drawn.lines}
          />
          {data.simulated_before !== null && (
            <p className={css['quiet']}>
              <Badge>simulated</Badge> The values before {moment(data.simulated_before)} were made
              up by the simulation of the demo.
            </p>
          )}
        </>
      )}
    </div>
  )
}
