/** Sign-in during an attack. Runs alone, not in parallel with other tests. */
import { request } from 'node:http'
import { expect, test } from 'vitest'
import { defaultLimits } from '../../http/limits.ts'
import { startBackend } from '../../testing/backend.ts'
import { longestHealthMs, stopwatch } from '../../testing/waiting.ts'
import { hashNow } from './password.ts'

/** How many times slower this machine is than a quiet one, on which a hash takes at most 20 ms. */
async function slowness(): Promise<number> {
  const began = performance.now()
  for (let n = 0; n < 10; n++) await hashNow('a long password')
  return Math.max(1, (performance.now() - began) / 10 / 20)
}

/** One request on a separate connection. Returns status and duration in ms. */
const timed = (url: string, method: 'GET' | 'POST', headers: Record<string, string> = {}, body?: object): Promise<{ status: number; ms: number }> =>
  new Promise((resolve, reject) => {
    const began = performance.now()
    const sent = request(url, { method, agent: false, headers: { 'content-type': 'application/json', ...headers } }, (response) => {
      response.resume().on('end', () => resolve({ status: response.statusCode!, ms: performance.now() - began }))
    })
    sent.on('error', reject)
    sent.end(body && JSON.stringify(body))
  })

test('while 210 addresses guess passwords at once, the right password from an unknown device signs in within 2 s', { timeout: 60_000 }, async () => {
  const backend = await startBackend({ environment: { STEELYARD_TRUSTED_PROXIES: '127.0.0.1/32' }, limits: defaultLimits })
  const { email, password } = await backend.signIn()
  const slowerBefore = await slowness()
  const url = await backend.listen()
  const over = new AbortController()
  let asked = 0
  const answered: number[] = []
  const guessing = Array.from({ length: 210 }, async (_, n) => {
    // This process opens all connections. Opening them all at once would delay the measured requests.
    await new Promise((resolve) => setTimeout(resolve, 2 * n))
    for (let round = 0; !over.signal.aborted; round++) {
      asked += 1
      const target = n % 2 === 0 ? email : `nobody${n}-${round}@example.com`
      const { status } = await timed(
        `${url}/v1/authorize`,
        'POST',
        { 'x-forwarded-for': `198.51.${n >> 5}.${n}` },
        { email: target, password: 'not the password' },
      )
      answered.push(status)
    }
  })
  const health: number[] = []
  const asking = (async () => {
    while (!over.signal.aborted) {
      const passed = stopwatch()
      await timed(`${url}/healthz`, 'GET')
      health.push(passed())
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  })()
  const signIn = (n: number) => timed(`${url}/v1/authorize`, 'POST', { 'x-forwarded-for': `192.0.2.${n}` }, { email, password })
  await expect.poll(() => asked, { timeout: 10_000 }).toBeGreaterThanOrEqual(210)
  // Signs in three times: while every guesser waits for its first answer, after some guessers got several, and after all are slowed down.
  const found = [await signIn(1)]
  await expect.poll(() => answered.length, { timeout: 20_000 }).toBeGreaterThan(100)
  found.push(await signIn(2))
  await expect.poll(() => answered.length, { timeout: 20_000 }).toBeGreaterThan(400)
  found.push(await signIn(3))
  over.abort()
  await Promise.all([...guessing, asking])
  const slower = Math.max(slowerBefore, await slowness())
  expect(found.map(({ status }) => status)).toEqual([200, 200, 200])
  expect(Math.max(...found.map(({ ms }) => ms))).toBeLessThan(2_000 * slower)
  expect(health.length).toBeGreaterThan(10)
  expect(Math.max(...health)).toBeLessThan(longestHealthMs * slower)
  // Guesses are refused: wrong password, too many tries, or more than 8 s in the queue.
  expect([...new Set(answered)].filter((status) => ![401, 429, 503].includes(status))).toEqual([])
})
