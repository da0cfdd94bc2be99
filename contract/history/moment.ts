/** Times of the past as people write them. */

const written =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,3})\d*)?)?)?(Z| ?UTC|[+-]\d\d:?\d\d)?$/i

/** A time, or why a text isn't one. */
export type Moment = { readonly at: Date } | { readonly at: null; readonly reason: string }

const refused = (reason: string): Moment => ({ at: null, reason })
const notation =
  'Write the time as 2026-11-27T02:00Z, or without a zone as 2026-11-27 02:00 for your own zone'
const clock = (at: Date): string => `${at.toISOString().slice(0, 16)}Z`

/**
 * Reads a time. Without a zone it is one of this computer's zone, where an hour is skipped and
 * another comes twice in each year with summer time: both are refused.
 */
export function momentOf(text: string): Moment {
  const found = written.exec(text.trim())
  if (found === null) return refused(notation)
  const [, year, month, day, hour = '00', minute = '00', second = '00', ms = '0', zone] = found
  const parts = [year, month, day, hour, minute, second].map(Number)
  const [y = 0, m = 1, d = 1, h = 0, min = 0, s = 0] = parts
  const inUtc = new Date(Date.UTC(y, m - 1, d, h, min, s, Number(ms.padEnd(3, '0'))))
  const isOf = (at: Date, read: (at: Date) => number[]): boolean =>
    read(at).every((part, i) => part === parts[i])
  const utcParts = (at: Date): number[] => [
    at.getUTCFullYear(),
    at.getUTCMonth() + 1,
    at.getUTCDate(),
    at.getUTCHours(),
    at.getUTCMinutes(),
    at.getUTCSeconds(),
  ]
  if (!isOf(inUtc, utcParts)) return refused(`${text.trim()} is no time: ${notation}`)
  if (zone !== undefined) {
    const [, sign, hours, minutes] = /([+-])(\d\d):?(\d\d)/.exec(zone) ?? []
    const offset =
      sign === undefined ? 0 : Number(`${sign}1`) * (Number(hours) * 60 + Number(minutes))
    return { at: new Date(inUtc.getTime() - offset * 60_000) }
  }
  const local = new Date(y, m - 1, d, h, min, s, inUtc.getUTCMilliseconds())
  const localParts = (at: Date): number[] => [
    at.getFullYear(),
    at.getMonth() + 1,
    at.getDate(),
    at.getHours(),
    at.getMinutes(),
    at.getSeconds(),
  ]
  if (!isOf(local, localParts))
    return refused(
      `${text.trim()} doesn't exist in your zone, whose clocks skip it: write it in UTC`,
    )
  // Zones change their clocks by half an hour or an hour.
  for (const byMs of [-3_600_000, -1_800_000, 1_800_000, 3_600_000]) {
    const other = new Date(local.getTime() + byMs)
    if (isOf(other, localParts)) {
      const [first, second] = [local, other].toSorted((a, b) => a.getTime() - b.getTime())
      return refused(
        `${text.trim()} comes twice in your zone: write ${clock(first!)} or ${clock(second!)}`,
      )
    }
  }
  return { at: local }
}
