import {
  browserTracingIntegration,
  captureException,
  init,
  makeFetchTransport,
  replayIntegration,
} from '@sentry/browser'
import { CallError } from './http.ts'
import { cleanEnvelope } from './report-clean.ts'

let begun = false

/**
 * The sampling rates are specified: all traces, replays of a tenth of the sessions with an error,
 * no other replays. `report-clean.ts` alone decides what a report contains; the settings here keep
 * the library from collecting more, and from doing what the content security policy forbids.
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
    // API calls carry no tracing headers.
    tracePropagationTargets: [],
    enhanceFetchErrorMessages: false,
    dataCollection: {
      userInfo: false,
      cookies: false,
      httpHeaders: false,
      httpBodies: [],
      urlQueryParams: false,
    },
    integrations: [
      browserTracingIntegration(),
      replayIntegration({
        maskAllText: true,
        maskAllInputs: true,
        blockAllMedia: true,
        block: ['[data-unrecorded]'],
        networkCaptureBodies: false,
        // The compression worker is a script made from text, which Trusted Types forbid. Also,
        // `report-clean.ts` must be able to read the payload.
        useCompression: false,
        // By default nothing is sent of a page that is left within 5 s, which is when many errors
        // happen.
        minReplayDuration: 0,
        // Session storage may contain only the items that the specification names.
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
      if (error instanceof CallError)
        event.tags = { ...event.tags, status: String(error.status), code: error.code }
      return event
    },
  })
}

export function capture(error: unknown): void {
  captureException(error)
}
