import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Caller } from '../../tools/api-client.ts'
import { databaseOf, type Program } from './testing/processes.ts'
import { create, ended, findings, openSite, patiently, type Site, signIn } from './testing/world.ts'
import { clusterGet } from '#contract/clusters.ts'

let site: Site
let program: Program
let call: Caller

beforeAll(async () => {
  site = await openSite({ servers: 8, seed: 'database' })
  program = await site.start()
  call = await signIn(program.url)
})
afterAll(() => site.stop())

/** Ends the database's server at once whenever it has come back, for a while. */
async function holdDown(forMs: number): Promise<void> {
  let last = 0
  for (const end = Date.now() + forMs; Date.now() < end;) {
    try {
      const { pid } = databaseOf(site.folder)
      if (pid !== last) process.kill(pid, 'SIGQUIT')
      last = pid
    } catch {
      // Between its end and its next start there is none.
    }
    await pause(50)
  }
}

test('the database is gone for a while in the middle of a creation and comes back: it goes on by itself', async () => {
  const nodes = await site.take(call, 4)
  const { cluster, operation } = await create(call, site, 'outage', nodes)
  await pause(400)
  const outage = holdDown(8_000)
  const statuses = new Set<number>()
  let retryAfter: string | null = null
  let isAlive = true
  while ((await Promise.race([outage.then(() => 'over'), pause(150).then(() => 'going on')])) !== 'over') {
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

test('what was acknowledged before the database was killed is there after it', async () => {
  const nodes = await site.take(call, 4)
  const { cluster, operation } = await create(call, site, 'acknowledged', nodes)
  process.kill(databaseOf(site.folder).pid, 'SIGKILL')
  expect((await patiently(() => call(clusterGet, { params: { id: cluster.id } }))).name).toBe('acknowledged')
  const end = await ended(call, operation.id, 90_000)
  expect(await findings(call, site, cluster.id, nodes, end)).toEqual([])
})
