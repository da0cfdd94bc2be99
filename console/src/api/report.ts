import { whenIdle } from '../lib/idle.ts'

/** Reports errors and page timings. Off unless the build sets `VITE_SENTRY_DSN`. */
const dsn = import.meta.env['VITE_SENTRY_DSN'] as string | undefined
const isOn = dsn !== undefined && dsn !== ''

async function begun(to: string): Promise<(error: unknown) => void> {
  const { begin, capture } = await import('./report-sentry.ts')
  begin(to)
  return capture
}

export function report(error: unknown): void {
  if (!isOn || (error instanceof DOMException && error.name === 'AbortError')) return
  void (async () => {
    try {
      const capture = await begun(dsn)
      capture(error)
    } catch {
      // A failure to report must not become another error.
    }
  })()
}

/**
 * Reports uncaught errors from now on. The reporting library loads when the page is idle, so that
 * it delays nothing.
 */
export function watchPage(): void {
  if (!isOn) return
  window.addEventListener('error', (event) => report(event.error))
  window.addEventListener('unhandledrejection', (event) => report(event.reason))
  const later = () => whenIdle(() => void begun(dsn).catch(() => undefined))
  if (document.readyState === 'complete') later()
  else window.addEventListener('load', later, { once: true })
}
