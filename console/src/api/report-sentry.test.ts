// @vitest-environment happy-dom
import { getClient } from '@sentry/browser'
import { expect, test, vi } from 'vitest'
import packageFile from '../../../package.json' with { type: 'json' }

test('errors are sent to the configured endpoint with release and environment; traces, replays and replays on errors have the specified rates', async () => {
  vi.stubGlobal('__VERSION__', packageFile.version)
  vi.stubEnv('VITE_ENVIRONMENT', 'staging')
  const sent: { url: string; body: string }[] = []
  vi.stubGlobal('fetch', async (url: string, { body }: { body: string | Uint8Array }) => {
    sent.push({ url, body: typeof body === 'string' ? body : new TextDecoder().decode(body) })
    return new Response('{}')
  })
  const { begin, capture } = await import('./report-sentry.ts')
  begin('https://key@reports.example.com/7')
  capture(new Error('The picture cannot be drawn'))
  await getClient()!.flush(2_000)
  const report = sent.find(({ body }) => body.includes('The picture cannot be drawn'))!
  expect(report.url).toMatch(/^https:\/\/reports\.example\.com\/api\/7\/envelope\//)
  expect(report.body).toContain(`"release":"${packageFile.version}"`)
  expect(report.body).toContain('"environment":"staging"')
  expect(getClient()!.getOptions()).toMatchObject({
    tracesSampleRate: 1,
    replaysSessionSampleRate: 0,
    replaysOnErrorSampleRate: 0.1,
  })
})
