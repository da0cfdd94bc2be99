/** What a chart says in words: values with units, times of its axis, and its summary. */
import { disk } from '../../lib/units.ts'

export type ChartUnit = 'share' | 'rate' | 'bytes' | 'seconds' | 'count'

const nbsp = '\u00a0'

/** 0.0042 → "4.2 ms", 1.5 → "1.5 s". */
const secondsText = (value: number): string =>
  value < 1
    ? `${Number((value * 1000).toFixed(value < 0.1 ? 1 : 0))}${nbsp}ms`
    : `${Number(value.toFixed(1))}${nbsp}s`

const texts: Readonly<Record<ChartUnit, (value: number) => string>> = {
  share: (value) => `${Number((value * 100).toFixed(value < 0.1 ? 1 : 0))}${nbsp}%`,
  rate: (value) => `${disk(Math.round(value))}/s`,
  bytes: (value) => disk(Math.round(value)),
  seconds: secondsText,
  count: (value) => String(Number(value.toFixed(1))),
}

/** 0.034 → "3.4 %", 1920383 → "1.92 MB/s". */
export const valueText = (value: number | null | undefined, unit: ChartUnit): string =>
  value === null || value === undefined ? 'not measured' : texts[unit](value)

const timeOfDay = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const dayAndTime = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
})
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })

/** Time of a value. @param seconds since 1970 */
export const timeText = (seconds: number): string => dayAndTime.format(seconds * 1000)
/** Time of a line of the axis. @param stepSeconds distance of the lines */
export const axisText = (seconds: number, stepSeconds: number): string => {
  const at = seconds * 1000
  return stepSeconds >= 86_400 || new Date(at).getHours() + new Date(at).getMinutes() === 0
    ? day.format(at)
    : timeOfDay.format(at)
}

interface Line {
  readonly title: string
  readonly mean: readonly (number | null)[]
  readonly max: readonly (number | null)[]
}

/** The last value and the highest one with its time, of each line. */
export function summaryOf(
  lines: readonly Line[],
  unit: ChartUnit,
  timeAt: (index: number) => number,
): string {
  return lines
    .map(({ title, mean, max }) => {
      const last = mean.findLast((value) => value !== null)
      if (last === undefined) return `${title}: not measured`
      const top = max.reduce<number>(
        (best, value, i) => (value !== null && value > (max[best] ?? -1) ? i : best),
        0,
      )
      return `${title}: now ${valueText(last, unit)}, highest ${valueText(max[top], unit)} at ${timeText(timeAt(top))}`
    })
    .join('. ')
}
