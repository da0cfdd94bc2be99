import { randomUUID } from 'node:crypto'
import { beforeEach, expect, test } from 'vitest'
import { startBackend } from '../testing/backend.ts'
import { statementsDuring } from '../testing/sent.ts'
import { leases, shardCount, shardOf } from './leases.ts'

const backend = await startBackend()
const { db } = backend.platform
const { clock } = backend
const onError = (error: unknown) => {
  throw error
}
const ids = Array.from({ length: 2000 }, () => randomUUID())
const processOf = (owner: string) => leases({ db, clock, owner, onError })
const everybodyIsGone = async () => {
  await db
    .updateTable('fleet_shard')
    .set({ lease_until: new Date(0) })
    .execute()
  await db
    .updateTable('fleet_member')
    .set({ beat_at: new Date(0) })
    .execute()
}
beforeEach(everybodyIsGone)
const owns = (lease: ReturnType<typeof processOf>, id: string) => lease.shards().has(shardOf(id))
const share = (lease: ReturnType<typeof processOf>) => ids.filter((id) => owns(lease, id)).length

test('servers are spread evenly over the shards', () => {
  const counts = Map.groupBy(ids, shardOf)
  expect(counts.size).toBe(shardCount)
})

test('a single process has all servers; a second process takes half, and no server belongs to both', async () => {
  const one = processOf('one')
  await one.renew()
  expect(share(one)).toBe(ids.length)
  const two = processOf('two')
  // The first process releases its surplus shards, and the second claims them.
  await two.renew()
  await one.renew()
  await two.renew()
  expect(ids.filter((id) => owns(one, id) && owns(two, id))).toEqual([])
  expect(share(one) + share(two)).toBe(ids.length)
  expect(Math.abs(share(one) - share(two))).toBeLessThan(ids.length / 4)
})

test('as long as no process comes or goes, a renewal is a single statement', async () => {
  const owners = [processOf('one'), processOf('two'), processOf('three')]
  for (let round = 0; round < 3; round++) for (const lease of owners) await lease.renew()
  const held = owners.map((lease) => lease.shards())
  expect(held.map((shards) => shards.size).toSorted((a, b) => a - b)).toEqual([20, 22, 22])
  const until = () =>
    db
      .selectFrom('fleet_shard')
      .select('lease_until')
      .orderBy('lease_until')
      .executeTakeFirstOrThrow()
  const before = await until()
  const texts = await statementsDuring(() => owners[0]!.renew())
  expect(texts.filter((text) => text.includes('fleet_') || text === 'begin')).toHaveLength(1)
  for (const lease of owners) await lease.renew()
  expect((await until()).lease_until!.getTime()).toBeGreaterThan(before.lease_until!.getTime())
  expect(owners.map((lease) => lease.shards())).toEqual(held)
})

test('a process that stops renewing its leases loses its servers, and notices the loss by its own clock', async () => {
  const [lost, heir] = [processOf('lost'), processOf('heir')]
  await lost.renew()
  clock.advance(21_000)
  expect(share(lost)).toBe(0)
  await everybodyIsGone()
  await heir.renew()
  expect(share(heir)).toBe(ids.length)
  expect(share(lost)).toBe(0)
})

test.each([
  ['ahead', 86_400_000],
  ['back', -86_400_000],
])("a clock that jumps a day %s doesn't change the length of a lease", async (_where, jumpMs) => {
  const lease = processOf(`jumps ${jumpMs}`)
  await lease.renew()
  clock.jump(jumpMs)
  try {
    expect(share(lease)).toBe(ids.length)
    clock.advance(21_000)
    expect(share(lease)).toBe(0)
  } finally {
    clock.jump(-jumpMs)
  }
})

test('a clean shutdown releases all servers of the process at once', async () => {
  const stop = new AbortController()
  const ending = processOf('ending')
  const running = ending.run(stop.signal)
  await expect.poll(() => share(ending)).toBeGreaterThan(0)
  stop.abort(new Error('shutdown'))
  await running
  expect(share(ending)).toBe(0)
  expect(
    await db.selectFrom('fleet_shard').selectAll().where('owner', '=', 'ending').execute(),
  ).toEqual([])
})
