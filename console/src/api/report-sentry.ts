import { browserTracingIntegration, captureException, init, makeFetchTransport, replayIntegration } from '@sentry/react'
import { CallError } from './http.ts'
import { cleanEnvelope } from './report-clean.ts'

let begun = false

/**
 * Rates are the specification's: every trace, no session replays, a tenth of those that hit an error. What is in a report is decided by `report-clean.ts` alone;
 * the settings here keep the library from collecting in the first place, and from what the content policy does not allow.
 */
export function begin(dsn: string): void {
  if (begun) return
  begun = true
  init({
    dsn,
    release: __VERSION__,
    environment: (import.meta.env['VITE_ENVIRONMENT'] as string | undefined) ?? 'production',
    tracesSampleRate: 1,
    replaysSessionSampleRate: 0,
    replaysOnErrorSampleRate: 0.1,
    // Our own calls carry no header of a tracing service.
    tracePropagationTargets: [],
    enhanceFetchErrorMessages: false,
    dataCollection: { userInfo: false, cookies: false, httpHeaders: false, httpBodies: [], urlQueryParams: false },
    integrations: [
      browserTracingIntegration(),
      replayIntegration({
        maskAllText: true,
        maskAllInputs: true,
        blockAllMedia: true,
        block: ['[data-unrecorded]'],
        networkCaptureBodies: false,
        // Its worker would be a script out of a text, which Trusted Types refuse; and `report-clean.ts` has to read what is sent.
        useCompression: false,
        // Session storage holds what the specification names, and nothing else.
        stickySession: false,
      }),
    ],
    transport: (options) => {
      const transport = makeFetchTransport(options)
      return {
        ...transport,
        send: (envelope) => {
          const clean = cleanEnvelope(envelope)
          return clean ? transport.send(clean) : Promise.resolve({})
        },
      }
    },
    beforeSend: (event, { originalException: error }) => {
      if (error instanceof CallError) event.tags = { ...event.tags, status: String(error.status), code: error.code }
      return event
    },
  })
}

export function capture(error: unknown): void {
  captureException(error)
}
