import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  type Snapshot,
  snapshotList,
  snapshotScheduleSet,
} from '#contract/clusters/changes/snapshots.ts'
import type { Server } from '#contract/servers/servers.ts'
import { storeCreate } from '#contract/storage/stores.ts'
import { longTests } from '../../tools/testing/length.ts'
import { longTest } from '../../tools/testing/long-test.ts'
import type { Caller } from '../../tools/api-client.ts'
import { databaseOf, type Program } from './processes.ts'
import { create, ended, findings, openSite, type Site, signIn } from './testing/world.ts'

// Two programs with one PostgreSQL, each with its own folder, share the work and do nothing twice.
let site: Site
let first: Program
let second: Program
let database: Client
let call: Caller
/** A cluster whose snapshots a schedule takes. */
let saved: string

/** Servers of each cluster. */
const size = longTests ? 4 : 1

const storeFolder = (): string => `${site.folder}-store`
const beside = () =>
  site.start({
    STEELYARD_STORE_FOLDERS: storeFolder(),
    STEELYARD_DATA: `${site.folder}-second`,
    DATABASE_URL: databaseOf(site.folder).url,
    STEELYARD_KEY_FILE: `${site.folder}/key`,
  })

beforeAll(async () => {
  site = await openSite({ servers: 5 * size, seed: 'two' })
  mkdirSync(storeFolder())
  first = await site.start({ STEELYARD_STORE_FOLDERS: storeFolder() })
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
  const groups = [
    await site.take(call, size),
    await site.take(call, size),
    await site.take(call, size),
  ]
  const creations = await Promise.all(
    groups.map((nodes, i) => create(call, site, `shared-${i}`, nodes)),
  )
  const owners = new Set<string>()
  const made = new AbortController()
  const sampling = (async () => {
    while (!made.signal.aborted && owners.size < 2) {
      const { rows } = await database.query<{ owner: string }>(
        `select distinct owner from wake_up where owner is not null and queue like 'cluster%'`,
      )
      for (const { owner } of rows) owners.add(owner)
      await pause(10)
    }
  })()
  for (const [i, { cluster, operation }] of creations.entries()) {
    const end = await ended(call, operation.id)
    expect(await findings(call, site, cluster.id, groups[i]!, end)).toEqual([])
    await expectOnce(groups[i]!)
  }
  saved = creations[0]!.cluster.id
  made.abort()
  await sampling
  expect(owners.size).toBe(2)
})

const snapshots = async (): Promise<Snapshot[]> =>
  (await call(snapshotList, { query: { sort: 'created_at', per_page: 100 } })).items
/** Makes the schedule due, as if an hour had passed since its last turn. */
async function turn(): Promise<void> {
  await database.query(`update snapshot_schedule set begun_for = begun_for - interval '1 hour'`)
  await database.query(`update wake_up set due_at = now() where queue = 'snapshot-schedule'`)
}
/** Files in the store, without its marker. */
const storedFiles = (): string[] =>
  readdirSync(storeFolder(), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== 'steelyard-store')
    .map((entry) => entry.name)
    .toSorted()
/** The files that the snapshots name. */
const named = (kept: readonly Snapshot[]): string[] =>
  kept.map(({ key }) => key.slice(key.lastIndexOf('/') + 1)).toSorted()

test('a schedule takes one snapshot per turn, and no file is removed twice', async () => {
  const { id: store_id } = await call(storeCreate, {
    body: { name: 'disk', kind: 'folder', folder: `${storeFolder()}/disk` },
  })
  await call(snapshotScheduleSet, {
    params: { id: saved },
    body: { store_id, every_hours: 1, at_hour: 0, keep_count: 2, keep_days: null },
  })
  const taken: string[] = []
  for (let turns = 1; turns <= 4; turns++) {
    await turn()
    const newest = async () =>
      (await snapshots()).filter((s) => s.status === 'ready' && !taken.includes(s.id))
    await expect.poll(newest, { timeout: 30_000 }).toHaveLength(1)
    taken.push((await newest())[0]!.id)
  }
  await expect
    .poll(async () => (await snapshots()).map((s) => s.id), { timeout: 30_000 })
    .toEqual(taken.slice(2))
  const { rows } = await database.query<{ made: string }>(
    `select count(*)::int as made from snapshot`,
  )
  expect(rows[0]!.made).toBe(4)
  const { rows: removals } = await database.query<{ attempts: number }>(
    `select attempts from effect where queue = 'snapshot' and name like 'remove/%'`,
  )
  expect(removals.map((r) => r.attempts)).toEqual([1, 1])
  expect(storedFiles()).toEqual(named(await snapshots()))
})

/** Waits until the first program has the lease of a cluster or of one of its servers. */
async function holdsSomething(): Promise<void> {
  const name = readFileSync(`${site.folder}/process-id`, 'utf8').trim()
  for (let tries = 0; tries < 2_000; tries++) {
    const { rows } = await database.query(
      `select 1 from wake_up where owner = $1 and queue like 'cluster%'`,
      [name],
    )
    if (rows.length > 0) return
    await pause(2)
  }
  throw new Error('The first program was never seen at work')
}

longTest(
  'a process that is paused for longer than its lease loses its objects, and its late writes are refused',
  async () => {
    const nodes = await site.take(call, size)
    const { cluster, operation } = await create(call, site, 'paused', nodes)
    await holdsSomething()
    process.kill(first.pid, 'SIGSTOP')
    // Keep the first program paused for longer than its lease (15 s), even if the operation ends
    // earlier.
    const [end] = await Promise.all([ended(call, operation.id, 90_000), pause(20_000)])
    process.kill(first.pid, 'SIGCONT')
    expect(await findings(call, site, cluster.id, nodes, end)).toEqual([])
    await pause(3_000)
    expect(await findings(call, site, cluster.id, nodes, await ended(call, operation.id))).toEqual(
      [],
    )
  },
)

test('after kill −9 of one process during a creation and a snapshot, the other process takes over within 30 s', async () => {
  const before = await snapshots()
  await first.kill()
  // The first program is killed when the file of the snapshot is written, but not recorded yet.
  first = await site.start({ STEELYARD_STORE_FOLDERS: storeFolder(), FAILPOINT: 'snapshot:after' })
  const nodes = await site.take(call, size)
  const { cluster, operation } = await create(call, site, 'widowed', nodes)
  await holdsSomething()
  process.kill(second.pid, 'SIGSTOP')
  await turn()
  const how = await Promise.race([first.ended, pause(30_000).then(() => 'not reached')])
  process.kill(second.pid, 'SIGCONT')
  expect(how).toBe('SIGKILL')
  const from = Date.now()
  const end = await ended(call, operation.id, 60_000)
  expect(Date.now() - from).toBeLessThan(45_000)
  expect(await findings(call, site, cluster.id, nodes, end)).toEqual([])

  // The turn gave one snapshot, the oldest one left, and the file of the interrupted attempt is
  // gone.
  const kept = async () => (await snapshots()).filter((s) => s.status === 'ready')
  await expect
    .poll(async () => (await snapshots()).map((s) => s.status), { timeout: 30_000 })
    .toEqual(['ready', 'ready'])
  expect((await kept())[0]!.id).toBe(before[1]!.id)
  await expect.poll(storedFiles, { timeout: 30_000 }).toEqual(named(await kept()))
})
