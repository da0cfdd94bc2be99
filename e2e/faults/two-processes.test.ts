import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Server } from '#contract/servers/servers.ts'
import type { Caller } from '../../tools/api-client.ts'
import { databaseOf, type Program } from './testing/processes.ts'
import { create, ended, findings, openSite, type Site, signIn } from './testing/world.ts'

// Two programs with one PostgreSQL, each with its own folder, share the work and do nothing twice.
let site: Site
let first: Program
let second: Program
let database: Client
let call: Caller

const beside = () =>
  site.start({
    STEELYARD_DATA: `${site.folder}-second`,
    DATABASE_URL: databaseOf(site.folder).url,
    STEELYARD_KEY_FILE: `${site.folder}/key`,
  })

beforeAll(async () => {
  site = await openSite({ servers: 20, seed: 'two' })
  first = await site.start()
  second = await beside()
  database = new Client({ connectionString: databaseOf(site.folder).url })
  await database.connect()
  call = await signIn(second.url)
})
afterAll(async () => {
  await database.end()
  await site.stop()
})

const expectOnce = async (nodes: readonly Server[]) => {
  const { servers } = await site.simulator.counters()
  const counted = servers.filter((s) => nodes.some((n) => n.identity.uuid === s.uuid.toLowerCase()))
  expect(counted.map((s) => [s.applies, s.installs])).toEqual(nodes.map(() => [1, 1]))
  expect(counted.reduce((calls, s) => calls + s.bootstraps, 0)).toBe(1)
}

test('two processes create clusters concurrently, and every step is done once', async () => {
  const groups = [await site.take(call, 4), await site.take(call, 4), await site.take(call, 4)]
  const creations = await Promise.all(groups.map((nodes, i) => create(call, site, `shared-${i}`, nodes)))
  const owners = new Set<string>()
  const made = new AbortController()
  const sampling = (async () => {
    while (!made.signal.aborted && owners.size < 2) {
      const { rows } = await database.query<{ owner: string }>(`select distinct owner from wake_up where owner is not null and queue like 'cluster%'`)
      for (const { owner } of rows) owners.add(owner)
      await pause(10)
    }
  })()
  for (const [i, { cluster, operation }] of creations.entries()) {
    const end = await ended(call, operation.id)
    expect(await findings(call, site, cluster.id, groups[i]!, end)).toEqual([])
    await expectOnce(groups[i]!)
  }
  made.abort()
  await sampling
  expect(owners.size).toBe(2)
})

/** Waits until the first program has the lease of a cluster or of one of its servers. */
async function holdsSomething(): Promise<void> {
  const name = readFileSync(`${site.folder}/process-id`, 'utf8').trim()
  for (let tries = 0; tries < 2_000; tries++) {
    const { rows } = await database.query(`select 1 from wake_up where owner = $1 and queue like 'cluster%'`, [name])
    if (rows.length > 0) return
    await pause(2)
  }
  throw new Error('The first program was never seen at work')
}

test('a process that is paused for longer than its lease loses its objects, and its late writes are refused', async () => {
  const nodes = await site.take(call, 4)
  const { cluster, operation } = await create(call, site, 'paused', nodes)
  await holdsSomething()
  process.kill(first.pid, 'SIGSTOP')
  // Keep the first program paused for longer than its lease (15 s), even if the operation ends earlier.
  const [end] = await Promise.all([ended(call, operation.id, 90_000), pause(20_000)])
  process.kill(first.pid, 'SIGCONT')
  expect(await findings(call, site, cluster.id, nodes, end)).toEqual([])
  await pause(3_000)
  expect(await findings(call, site, cluster.id, nodes, await ended(call, operation.id))).toEqual([])
})

test('after kill −9 of one process during a creation, the other process takes over within 30 s', async () => {
  const nodes = await site.take(call, 4)
  const { cluster, operation } = await create(call, site, 'widowed', nodes)
  await holdsSomething()
  await first.kill()
  const from = Date.now()
  const end = await ended(call, operation.id, 60_000)
  expect(Date.now() - from).toBeLessThan(45_000)
  expect(await findings(call, site, cluster.id, nodes, end)).toEqual([])
})
