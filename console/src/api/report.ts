/** Reporting of errors: off unless the build names a place (`VITE_SENTRY_DSN`), and not fetched before the first error. */
const dsn = import.meta.env['VITE_SENTRY_DSN'] as string | undefined

export function report(error: unknown): void {
  if (dsn === undefined || dsn === '' || (error instanceof DOMException && error.name === 'AbortError')) return
  void send(dsn, error)
}

async function send(to: string, error: unknown): Promise<void> {
  try {
    const { capture } = await import('./report-sentry.ts')
    capture(to, error)
  } catch {
    // Reporting must never be the next error.
  }
}
