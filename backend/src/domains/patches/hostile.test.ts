/**
 * Sends hostile texts while another client reads /healthz. Uses a real socket. Runs alone, not in
 * parallel with other tests.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { patchCreate } from '#contract/patches.ts'
import { longTest } from '../../../../tools/testing/long-test.ts'
import { startBackend } from '../../testing/backend.ts'
import { longestTurnMs, watchTurns } from '../../testing/turns.ts'
import { buildServer } from '../servers/testing.ts'

const backend = await startBackend()
const url = await backend.listen()

const bodies = [
  `${'\n'.repeat(31)}x`,
  `${'\n'.repeat(60)}x`,
  `${'\n'.repeat(60_000)}x`,
  `${'#\n'.repeat(30_000)}- x`,
  '\n---'.repeat(15_000),
  `machine:\n  env:\n    A: ${'BEGIN '.repeat(10_000)}\n`,
  `machine:\n  time:\n    bootTimeout: ${'1'.repeat(60_000)}\n`,
  `machine:\n  sysctls:\n${Array.from({ length: 2_400 }, (_, i) => `    net.a${i}: "${i}"\n`).join('')}`,
  '['.repeat(60_000),
  '? '.repeat(30_000),
  '"\\'.repeat(30_000),
]

test('health checks answer in time while hostile patches are previewed and hostile headers are sent', async () => {
  const viewer = await backend.signIn({ role: 'viewer' })
  const operator = await backend.signIn({ role: 'operator' })
  const id = await buildServer(backend)
  const made = await operator.call(patchCreate, {
    params: { id },
    body: { name: 'a', body: 'machine:\n  sysctls:\n    a: "1"\n' },
  })
  const authorization = `Bearer ${viewer.accessToken}`
  const statuses = new Map<number, number>()
  const preview = async (body: string) => {
    const answer = await fetch(`${url}/v1/nodes/${id}/patches/preview`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ body }),
    })
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
    await answer.arrayBuffer()
  }
  const tagged = async (header: string) => {
    const answer = await fetch(`${url}/v1/nodes/${id}/patches/${made.answer!.patch_id}`, {
      headers: { authorization, 'if-none-match': header },
    })
    await answer.arrayBuffer()
  }
  // Starts the worker thread and compiles its code, which isn't measured.
  await preview('machine: {}')
  await fetch(`${url}/healthz`).then((a) => a.arrayBuffer())

  const over = new AbortController()
  let answers = 0
  const cost = watchTurns()
  const watch = (async () => {
    while (!over.signal.aborted) {
      const answer = await fetch(`${url}/healthz`)
      await answer.arrayBuffer()
      answers += 1
      expect(answer.status).toBe(200)
      await pause(10)
    }
  })()
  const tabs = '\t'.repeat(15_000)
  await Promise.all([
    ...[0, 5].map(async (turn) => {
      for (const body of [...bodies.slice(turn), ...bodies.slice(0, turn)]) await preview(body)
    }),
    (async () => {
      for (const header of [
        `"a"${tabs}x`,
        `"a"${tabs}"`,
        `"${'!'.repeat(15_000)}`,
        '"a",'.repeat(3_500),
        `W/"a"${' '.repeat(15_000)}"`,
      ])
        await tagged(header)
    })(),
  ])
  over.abort()
  await watch
  expect(answers).toBeGreaterThan(5)
  expect(cost().longestTurnMs).toBeLessThanOrEqual(longestTurnMs)
  expect(statuses.get(200)).toBeGreaterThan(bodies.length)
  // Enough for two dozen texts that each take half a second of processor time on a shared machine.
})

// `http/load/attack.test.ts` floods in `npm test`.
longTest(
  'one user’s flood of previews is refused beyond their share, while another user’s preview is answered',
  async () => {
    const [flood, other] = [
      await backend.signIn({ role: 'viewer' }),
      await backend.signIn({ role: 'viewer' }),
    ]
    const id = await buildServer(backend)
    const preview = (token: string) =>
      fetch(`${url}/v1/nodes/${id}/patches/preview`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ body: bodies[7] }),
      })
    const sent = Array.from({ length: 24 }, () => preview(flood.accessToken))
    expect((await preview(other.accessToken)).status).toBe(200)
    const answers = await Promise.all(sent)
    const refused = answers.filter((a) => a.status === 429)
    expect(refused.length).toBeGreaterThan(5)
    expect(answers.filter((a) => a.status === 200).length).toBeGreaterThanOrEqual(8)
    expect(refused[0]!.headers.get('retry-after')).toBe('1')
    expect(await refused[0]!.json()).toMatchObject({
      error: expect.stringContaining('Too many of your texts are waiting to be read') as string,
    })
  },
)
