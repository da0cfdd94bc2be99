import { existsSync, renameSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { longTests } from '../../tools/testing/length.ts'
import { longTest } from '../../tools/testing/long-test.ts'
import type { Caller } from '../../tools/api-client.ts'
import { databaseOf, type Program } from './processes.ts'
import { create, ended, findings, openSite, patiently, type Site, signIn } from './testing/world.ts'
import { clusterGet } from '#contract/clusters/clusters.ts'
import { operationGet } from '#contract/operations.ts'

/** Servers of the cluster whose creation continues after an outage. */
const size = longTests ? 4 : 2
let site: Site
let program: Program
let call: Caller

beforeAll(async () => {
  // The machines of the third test are slow, so that their creation outlasts several crashes.
  const slow = { slowness: 40 }
  site = await openSite({
    servers: 13,
    seed: 'database',
    special: { 9: slow, 10: slow, 11: slow, 12: slow },
  })
  program = await site.start()
  call = await signIn(program.url)
})
afterAll(() => site.stop())

/** For `forMs`, kills the database server each time that it has restarted. */
async function holdDown(forMs: number): Promise<void> {
  let last = 0
  for (const end = Date.now() + forMs; Date.now() < end;) {
    try {
      const { pid } = databaseOf(site.folder)
      if (pid !== last) process.kill(pid, 'SIGQUIT')
      last = pid
    } catch {
      // The database isn't running at the moment: it ended and has not started again.
    }
    await pause(50)
  }
}

test('a creation continues by itself after a temporary outage of the database', async () => {
  const nodes = await site.take(call, size)
  const { cluster, operation } = await create(call, site, 'outage', nodes)
  await pause(400)
  const outage = holdDown(8_000)
  const statuses = new Set<number>()
  let retryAfter: string | null = null
  let isAlive = true
  while (
    (await Promise.race([outage.then(() => 'over'), pause(150).then(() => 'going on')])) !== 'over'
  ) {
    const answer = await fetch(`${program.url}/readyz`).catch((error: unknown) => {
      throw new Error(`The program does not answer:\n${program.log()}`, { cause: error })
    })
    statuses.add(answer.status)
    retryAfter = answer.headers.get('retry-after') ?? retryAfter
    isAlive &&= (await fetch(`${program.url}/healthz`)).status === 200
  }
  expect([...statuses]).toContain(503)
  expect(isAlive).toBe(true)
  const end = await ended(call, operation.id, 90_000)
  expect(await findings(call, site, cluster.id, nodes, end)).toEqual([])
})

longTest('everything that was acknowledged survives a kill of the database', async () => {
  const nodes = await site.take(call, 4)
  const { cluster, operation } = await create(call, site, 'acknowledged', nodes)
  process.kill(databaseOf(site.folder).pid, 'SIGKILL')
  expect((await patiently(() => call(clusterGet, { params: { id: cluster.id } }))).name).toBe(
    'acknowledged',
  )
  const end = await ended(call, operation.id, 90_000)
  expect(await findings(call, site, cluster.id, nodes, end)).toEqual([])
})

longTest(
  'a creation continues while the database crashes every 2.5 s, and nothing waits for a lease to expire',
  async () => {
    const nodes = await site.take(call, 4)
    const { cluster, operation } = await create(call, site, 'crashes', nodes)
    let crashes = 0
    const over = new AbortController()
    const crashing = (async () => {
      for (; !over.signal.aborted; crashes++) {
        process.kill(databaseOf(site.folder).pid, crashes % 2 === 0 ? 'SIGKILL' : 'SIGQUIT')
        const next = Date.now() + 2_500
        await pause(500)
        // Retry until the database has recovered, which takes longer on a busy machine.
        await patiently(() => call(operationGet, { params: { id: operation.id } }))
        await pause(Math.max(1_000, next - Date.now()))
      }
    })()
    const end = await ended(call, operation.id, 120_000).finally(() => over.abort())
    await crashing
    expect(crashes).toBeGreaterThanOrEqual(2)
    expect(await findings(call, site, cluster.id, nodes, end)).toEqual([])
    expect(program.log()).not.toMatch(/run\.taken_over|run\.unreleased/)
  },
  180_000,
)

test("if the escrow file can't be written, the creation shows path and reason, a metric counts it, and the creation continues when it can be written", async () => {
  const nodes = await site.take(call, 1)
  const escrow = join(site.folder, 'escrow')
  const aside = `${escrow}.aside`
  renameSync(escrow, aside)
  writeFileSync(escrow, 'a file where the folder should be')
  const { cluster, operation } = await create(call, site, 'blocked', nodes)
  const sentence = new RegExp(
    `^The escrow file ${escrow}/${cluster.id}\\.bin can't be written: a file is in the way`,
  )
  const metric = async () =>
    /^steelyard_escrow_failing (\d+)$/m.exec(
      await (await fetch(`${program.url}/metrics`)).text(),
    )?.[1]
  const look = () => patiently(() => call(operationGet, { params: { id: operation.id } }))
  for (const until = Date.now() + 30_000; (await look()).reason?.match(sentence) == null;) {
    if (Date.now() > until)
      throw new Error(`It doesn't say why it does not move: ${JSON.stringify(await look())}`)
    await pause(100)
  }
  expect((await look()).steps.find((s) => s.key === 'secrets')).toMatchObject({
    status: 'running',
    reason: expect.stringMatching(sentence) as string,
  })
  expect(await metric()).toBe('1')
  unlinkSync(escrow)
  renameSync(aside, escrow)
  const end = await ended(call, operation.id, 60_000)
  expect(await findings(call, site, cluster.id, nodes, end)).toEqual([])
  expect(existsSync(join(escrow, `${cluster.id}.bin`))).toBe(true)
  expect(await metric()).toBe('0')
}, 120_000)
