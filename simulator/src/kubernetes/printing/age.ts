const SECOND = 1
const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const YEAR = 365 * DAY

/** A duration as kubectl shows an age (Kubernetes: apimachinery/pkg/util/duration, HumanDuration). */
export const humanDuration = (ms: number): string => {
  const seconds = Math.floor(ms / 1000)
  if (seconds < -1) return '<invalid>'
  if (seconds < 0) return '0s'
  const two = (large: number, largeUnit: string, small: number, smallUnit: string): string => {
    const rest = Math.floor((seconds % large) / small)
    return `${Math.floor(seconds / large)}${largeUnit}${rest === 0 ? '' : `${rest}${smallUnit}`}`
  }
  if (seconds < 2 * MINUTE) return `${seconds}s`
  if (seconds < 10 * MINUTE) return two(MINUTE, 'm', SECOND, 's')
  if (seconds < 3 * HOUR) return `${Math.floor(seconds / MINUTE)}m`
  if (seconds < 8 * HOUR) return two(HOUR, 'h', MINUTE, 'm')
  if (seconds < 2 * DAY) return `${Math.floor(seconds / HOUR)}h`
  if (seconds < 8 * DAY) return two(DAY, 'd', HOUR, 'h')
  if (seconds < 2 * YEAR) return `${Math.floor(seconds / DAY)}d`
  if (seconds < 8 * YEAR) return two(YEAR, 'y', DAY, 'd')
  return `${Math.floor(seconds / YEAR)}y`
}

/** The age since an RFC 3339 time. */
export const ageOf = (at: unknown, now: number): string => {
  const time = typeof at === 'string' ? Date.parse(at) : Number.NaN
  return Number.isNaN(time) ? '<unknown>' : humanDuration(now - time)
}
