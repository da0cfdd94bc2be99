import { captureException, init, replayIntegration } from '@sentry/react'

let begun = false

/** Rates are the specification's: every trace, no session replays, a tenth of those that hit an error. No person, no header, no query, no text of the page leaves. */
export function capture(dsn: string, error: unknown): void {
  if (!begun) {
    begun = true
    init({
      dsn,
      release: __VERSION__,
      environment: (import.meta.env['VITE_ENVIRONMENT'] as string | undefined) ?? 'production',
      tracesSampleRate: 1,
      replaysSessionSampleRate: 0,
      replaysOnErrorSampleRate: 0.1,
      dataCollection: { userInfo: false, cookies: false, httpHeaders: false, httpBodies: [], urlQueryParams: false },
      integrations: [replayIntegration({ maskAllText: true, blockAllMedia: true, networkDetailAllowUrls: [] })],
      beforeBreadcrumb: (crumb) => {
        delete crumb.data
        return crumb.category === 'console' ? null : crumb
      },
      beforeSend: (event) => {
        delete event.user
        delete event.request
        delete event.extra
        const bare = (text: string) => text.replaceAll(/[^\s@]+@[^\s@]+/g, '[email]').replaceAll(/\b\d{1,3}(?:\.\d{1,3}){3}\b/g, '[address]')
        for (const value of event.exception?.values ?? []) if (value.value !== undefined) value.value = bare(value.value)
        return event
      },
    })
  }
  captureException(error)
}
