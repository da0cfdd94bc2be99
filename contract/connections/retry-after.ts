/**
 * How long another side asks to wait (`Retry-After`, RFC 9110, 10.2.3): a number of seconds or a
 * date; a receiver can't make the program wait for longer than `mostMs`.
 * @returns ms from `nowMs` (since 1970) on, or null without a valid header
 */
export function retryAfterMs(
  header: string | null | undefined,
  { nowMs, mostMs }: { readonly nowMs: number; readonly mostMs: number },
): number | null {
  const text = header?.trim() ?? ''
  if (/^\d{1,15}$/.test(text)) return Math.min(Number(text) * 1000, mostMs)
  // All three forms of a date begin with the name of a day; `Date.parse` reads other texts too.
  if (!/^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? /.test(text) || text.length > 40) return null
  // The form of asctime has no time zone, and means UTC.
  const at = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`)
  return Number.isNaN(at) ? null : Math.min(Math.max(0, at - nowMs), mostMs)
}
