import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { type CapacityCommitment, ccGet, ccUpdate } from '#contract/marketplace/ccs.ts'
import { serverRemove } from '#contract/servers/servers.ts'
import { testClock } from '../../testing/clock.ts'
import { type Backend, type SignedIn, startBackend } from '../../testing/backend.ts'
import { buildServer } from '../servers/testing.ts'
import { steadyMs } from './keeping.ts'
import { addCc, dayMs, hardware, inDays, measuredServer, price } from './testing.ts'

const backend = await startBackend()
let operator: SignedIn
// The tests advance the clock, which ends sessions.
const signIn = async () => {
  operator = await backend.signIn({ role: 'operator' })
}
beforeEach(signIn)
const days = (n: number) => inDays(backend, n)
let made = 0

/** A commitment of a new server that waits for its start. */
async function delegated(
  { starts, ends }: { starts: number; ends: number },
  on: Backend = backend,
  by = operator,
): Promise<CapacityCommitment> {
  const id = await measuredServer(on, `kept-${++made}`)
  const cc = await addCc(by, id, {
    price,
    starts_at: inDays(on, starts),
    expires_at: inDays(on, ends),
    status: 'waiting_delegation',
  })
  return (await by.call(ccUpdate, { params: { id: cc.id }, body: { status: 'waiting_start' } }))
    .answer!
}
const get = async ({ id }: { id: string }, by = operator) =>
  (await by.call(ccGet, { params: { id } })).answer!
/** Advances the clock and runs what becomes due. */
const pass = async (ms: number) => {
  await backend.engine.run(ms)
  await signIn()
}

test('a commitment starts and is completed at its times, to the millisecond', async () => {
  const cc = await delegated({ starts: 1, ends: 3 })
  await pass(dayMs - 1)
  expect(await get(cc)).toMatchObject({ status: 'waiting_start', started_at: null })
  await pass(1)
  expect(await get(cc)).toMatchObject({
    status: 'active',
    started_at: cc.starts_at,
    ended_at: null,
  })
  await pass(2 * dayMs - 1)
  expect((await get(cc)).status).toBe('active')
  await pass(1)
  expect(await get(cc)).toMatchObject({
    status: 'completed',
    ended_at: cc.expires_at,
    reason: null,
  })
})

test('changes that were due while Steelyard was down are made at its start, with the times at which they were due', async () => {
  const cc = await delegated({ starts: 1, ends: 3 })
  backend.clock.advance(9 * dayMs)
  await backend.engine.settle()
  await signIn()
  expect(await get(cc)).toMatchObject({
    status: 'completed',
    started_at: cc.starts_at,
    ended_at: cc.expires_at,
  })
})

test('a commitment that a user started before its time keeps its end', async () => {
  const cc = await delegated({ starts: 5, ends: 6 })
  await operator.call(ccUpdate, { params: { id: cc.id }, body: { status: 'active' } })
  expect(await get(cc)).toMatchObject({
    status: 'active',
    starts_at: days(0),
    started_at: days(0),
    expires_at: cc.expires_at,
  })
  await pass(6 * dayMs)
  expect(await get(cc)).toMatchObject({ status: 'completed', ended_at: cc.expires_at })
})

test('an active commitment fails when its server is removed, and says so; one that waits for its delegation is removed', async () => {
  const active = await delegated({ starts: 0, ends: 9 })
  const waiting = await addCc(operator, await measuredServer(backend, `kept-${++made}`), {
    price,
    expires_at: days(9),
    status: 'waiting_delegation',
  })
  await backend.engine.settle()
  for (const { server } of [active, waiting])
    expect((await operator.call(serverRemove, { params: { id: server.id } })).status).toBe(202)
  const removedAt = days(0)
  await backend.engine.settle()
  expect(await get(active)).toMatchObject({
    status: 'failed',
    reason: 'The server was removed',
    ended_at: removedAt,
    server: { status: 'deleted' },
  })
  expect(await get(waiting)).toMatchObject({ status: 'removed', reason: 'The server was removed' })
})

test('a server that does not answer is shown, but ends no commitment: it may come back', async () => {
  const cc = await delegated({ starts: 0, ends: 9 })
  await backend.engine.settle()
  const since = days(0)
  await backend.platform.db
    .updateTable('server')
    .set({ reachable: false, unreachable_since: new Date(since), reason: 'No answer' })
    .where('id', '=', cc.server.id)
    .execute()
  await pass(dayMs)
  expect(await get(cc)).toMatchObject({ status: 'active', server: { unreachable_since: since } })
})

test('a draft follows the hardware of its server; promised capacity stays, unless it was unknown', async () => {
  const { db } = backend.platform
  const readAgain = async (id: string, memoryGiB: number) => {
    backend.clock.advance(1000)
    await db
      .updateTable('server')
      .set({ hardware: hardware(memoryGiB), hardware_at: new Date(backend.clock.now()) })
      .where('id', '=', id)
      .execute()
    await backend.domains.ccs.look()
    await backend.engine.settle()
  }
  const draft = await addCc(operator, await measuredServer(backend, `kept-${++made}`))
  await readAgain(draft.server.id, 8)
  expect((await get(draft)).capacity.compute_units).toBe(2)
  const promised = await delegated({ starts: 1, ends: 2 })
  await readAgain(promised.server.id, 8)
  expect(await get(promised)).toMatchObject({
    capacity: { compute_units: 16 },
    version: promised.version,
  })
  const unknown = await addCc(operator, await buildServer(backend, { name: `kept-${++made}` }), {
    price,
    expires_at: days(3),
    status: 'waiting_delegation',
  })
  await readAgain(unknown.server.id, 32)
  expect((await get(unknown)).capacity).toMatchObject({ compute_units: 8, cores: 16 })
  await readAgain(unknown.server.id, 8)
  expect((await get(unknown)).capacity.compute_units).toBe(8)
})

test('nothing starts or ends within ten minutes after the clock jumped, and nothing at all if it is set right again', async () => {
  let jumpedAt = 0
  const clock = testClock()
  const jumpy = { ...clock, steadySince: () => jumpedAt }
  const own = await startBackend({ clock: jumpy })
  onTestFinished(() => own.stop())
  const by = await own.signIn({ role: 'operator' })
  const cc = await delegated({ starts: 2, ends: 9 }, own, by)
  await delegated({ starts: 0, ends: 5 }, own, by)
  await own.engine.settle()
  const statuses = async () =>
    (await own.platform.db.selectFrom('capacity_commitment').select(['id', 'status']).execute())
      .toSorted((a) => (a.id === cc.id ? -1 : 1))
      .map((r) => r.status)
  expect(await statuses()).toEqual(['waiting_start', 'active'])

  clock.jump(30 * dayMs)
  jumpedAt = clock.now()
  await own.engine.run(steadyMs - 1)
  expect(await statuses()).toEqual(['waiting_start', 'active'])

  // The clock is set right. The wake-ups that were stored meanwhile are a month ahead; the look
  // finds what is due all the same.
  clock.jump(-30 * dayMs)
  jumpedAt = clock.now()
  await own.engine.run(steadyMs)
  expect(await statuses()).toEqual(['waiting_start', 'active'])
  clock.advance(2 * dayMs)
  await own.domains.ccs.look()
  await own.engine.settle()
  expect(await statuses()).toEqual(['active', 'active'])
  clock.advance(3 * dayMs)
  await own.domains.ccs.look()
  await own.engine.settle()
  expect(await statuses()).toEqual(['active', 'completed'])
})

test('after the clock was set ahead for good, commitments follow it once it has been steady for ten minutes', async () => {
  let jumpedAt = 0
  const clock = testClock()
  const own = await startBackend({ clock: { ...clock, steadySince: () => jumpedAt } })
  onTestFinished(() => own.stop())
  const cc = await delegated({ starts: 1, ends: 9 }, own, await own.signIn({ role: 'operator' }))
  clock.jump(2 * dayMs)
  jumpedAt = clock.now()
  await own.engine.run(steadyMs)
  expect((await get(cc, await own.signIn({ role: 'operator' }))).status).toBe('active')
})
