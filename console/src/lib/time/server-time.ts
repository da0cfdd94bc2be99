/**
 * The server's time. Ages and time left are computed from it, so that a wrong clock of the browser
 * changes none of them. It is known from the Date header of responses (RFC 9110, 6.6.1).
 */

/** The header has whole seconds, so a smaller difference says nothing. */
const leastMs = 5_000
/** The server may have sent a slower response at any time in between. */
const slowestMs = 5_000

let aheadMs = 0

/**
 * Notes the Date header of a response.
 * @param sentAt when the request was sent and when its response came, by the browser's clock
 */
export function noteServerTime(date: string | null, sentAt: number, cameAt: number): void {
  const at = Date.parse(date ?? '')
  if (Number.isNaN(at) || cameAt < sentAt || cameAt - sentAt > slowestMs) return
  const differenceMs = at + 500 - (sentAt + cameAt) / 2
  aheadMs = Math.abs(differenceMs) < leastMs ? 0 : Math.round(differenceMs)
}

/** In ms since 1970; the browser's time until the server's is known. */
export const serverNow = (): number => Date.now() + aheadMs
