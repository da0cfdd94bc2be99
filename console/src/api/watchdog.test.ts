import { heartbeatMs } from '#contract/events.ts'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { watchdog } from './watchdog.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function watched(probe: () => Promise<unknown>) {
  const said: string[] = []
  const began = Date.now()
  const watch = watchdog({
    probe,
    onSilent: (since) => said.push(`silent since ${since - began}`),
    onQuiet: () => said.push('quiet'),
  })
  return { watch, said, pass: (ms: number) => vi.advanceTimersByTimeAsync(ms) }
}
const refused = () => Promise.reject(new Error('connection refused'))
/**
 * A probe of a stopped process, which accepts the request and never responds: rejects at the
 * probe's time limit.
 */
const frozen = () => new Promise((_, reject) => setTimeout(() => reject(new Error('late')), 2_000))
const answers = () => Promise.resolve()

test('a server that stops answering is reported as silent within 7 s of its last sign of life', async () => {
  const { watch, said, pass } = watched(frozen)
  for (let beat = 0; beat < 5; beat++) {
    await pass(heartbeatMs)
    watch.heard()
  }
  expect(said).toEqual([])
  await pass(7_000)
  expect(said[0]).toBe('silent since 10000')
  watch.stop()
})

test('a broken event stream causes a probe at once', async () => {
  const { watch, said } = watched(refused)
  await watch.look()
  expect(said).toEqual(['silent since 0'])
  watch.stop()
})

test('punctual heartbeats cause no probes', async () => {
  const probe = vi.fn<() => Promise<void>>(answers)
  const { watch, said, pass } = watched(probe)
  for (let beat = 0; beat < 20; beat++) {
    await pass(heartbeatMs)
    watch.heard()
  }
  expect([said, probe.mock.calls.length]).toEqual([[], 0])
  watch.stop()
})

test('a server that answers probes is not reported as silent if only the stream is broken', async () => {
  const { watch, said, pass } = watched(answers)
  await pass(6_000)
  expect([...new Set(said)]).toEqual(['quiet'])
  watch.stop()
})

test('a server that sends something during a failing probe is not reported as silent', async () => {
  const { watch, said, pass } = watched(frozen)
  const asked = watch.look()
  await pass(1_000)
  watch.heard()
  await pass(1_500)
  await asked
  expect(said).toEqual([])
  watch.stop()
  await pass(20_000)
  expect(said).toEqual([])
})

test('a silent server is probed repeatedly, so its return is noticed', async () => {
  let up = false
  const { watch, said, pass } = watched(() => (up ? answers() : refused()))
  await pass(6_000)
  expect(said.at(-1)).toBe('silent since 0')
  up = true
  await pass(4_000)
  expect(said.at(-1)).toBe('quiet')
  watch.stop()
})
