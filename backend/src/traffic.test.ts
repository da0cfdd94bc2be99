import { expect, test } from 'vitest'
import { testClock } from './testing/clock.ts'
import { traffic } from './traffic.ts'

test('the time since the last request counts calls and pages, but no probes', () => {
  const clock = testClock()
  const { note, quietMs } = traffic(clock)
  expect(quietMs()).toBe(Infinity)
  note('/v1/nodes?page=1')
  clock.advance(700)
  for (const probe of ['/healthz', '/readyz', '/metrics']) note(probe)
  expect(quietMs()).toBe(700)
  note('/infra/servers')
  expect(quietMs()).toBe(0)
})
