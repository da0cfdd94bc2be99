/** Calls `what` when the page is idle, after three seconds at most. Safari has no idle callback. */
export function whenIdle(what: () => void): void {
  if ('requestIdleCallback' in window) window.requestIdleCallback(what, { timeout: 3_000 })
  else setTimeout(what, 500)
}
