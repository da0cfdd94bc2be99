import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { beforeEach, expect, expectTypeOf, test } from 'vitest'
import {
  operationCancel,
  operationGet,
  operationList,
  operationRetry,
} from '#contract/operations.ts'
import { overviewGet } from '#contract/overview.ts'
import { inTransaction, type Tx } from '../../db/db.ts'
import { system } from '../../http/caller.ts'
import { type SignedIn, startBackend } from '../../testing/backend.ts'
import { statementsDuring } from '../../testing/sent.ts'
import { costOf, longestTurnMs } from '../../testing/turns.ts'

/**
 * `woken`: the reconciled keys. `failing`: the error that the reconciler throws, set by each test.
 */
const woken: string[] = []
let failing: Error | undefined
const backend = await startBackend({
  prepare: ({ engine }) =>
    engine.register({
      queue: 'demo',
      reconcile: async ({ key }) => {
        woken.push(key)
        if (failing !== undefined) throw failing
      },
    }),
})
const { operations } = backend.domains
const { db } = backend.platform
let admin: SignedIn
let operator: SignedIn
let viewer: SignedIn
// Tests advance the clock, which ends sessions.
beforeEach(async () => {
  failing = undefined
  admin = await backend.signIn()
  operator = await backend.signIn({ role: 'operator' })
  viewer = await backend.signIn({ role: 'viewer' })
})
const write = <T>(change: (tx: Tx) => Promise<T>) => inTransaction(db, change)

const begin = (
  target = { kind: 'server' as const, id: randomUUID() as string | null, name: 'calm-otter-101' },
) =>
  write((tx) =>
    operations.create(tx, system, {
      kind: 'serverReboot',
      arguments: { waits: false, sent_in_boot: null },
      target,
      queue: 'demo',
      queueKey: target.id ?? 'none',
      steps: [
        { key: 'ask', title: 'Ask it to reboot' },
        { key: 'wait', title: 'Wait for it' },
      ],
    }),
  )

test('an operation wakes its reconciler after the commit', async () => {
  const { id, target, status, steps } = await begin()
  expect({ status, steps: steps.map((s) => s.status) }).toEqual({
    status: 'pending',
    steps: ['todo', 'todo'],
  })
  await backend.engine.settle()
  expect(woken).toContain(target.id)
  expect((await viewer.call(operationGet, { params: { id } })).answer).toMatchObject({
    id,
    kind: 'serverReboot',
    created_by: 'Steelyard',
  })
})

test('steps record their times and attempts; the first running step sets the operation to running', async () => {
  const { id } = await begin()
  const step = (key: string, change: Parameters<typeof operations.step>[3]) =>
    write((tx) => operations.step(tx, id, key, change))
  await step('ask', { status: 'running' })
  backend.clock.advance(5_000)
  await step('ask', { status: 'waiting', reason: 'for the power to come back' })
  await step('ask', { status: 'failed', reason: 'it never came back' })
  await step('ask', { status: 'running' })
  await step('ask', { status: 'done' })
  await step('no such step', { status: 'done' })
  const { answer } = await viewer.call(operationGet, { params: { id } })
  expect(answer).toMatchObject({ status: 'running', started_at: expect.any(String) as string })
  expect(answer!.steps[0]).toMatchObject({ status: 'done', attempt: 2, reason: null })
  expect(Date.parse(answer!.steps[0]!.ended_at!) - Date.parse(answer!.steps[0]!.started_at!)).toBe(
    5_000,
  )
})

test('the arguments of operations, which may be large, are read only by who asks for them', async () => {
  const { id } = await begin()
  const texts = await statementsDuring(async () => {
    await viewer.call(operationList)
    await viewer.call(operationGet, { params: { id } })
    await viewer.call(overviewGet)
    await write((tx) => operations.step(tx, id, 'ask', { status: 'failed', reason: 'it refused' }))
    await operator.call(operationCancel, { params: { id } })
  })
  const ofOperations = texts.filter((text) => text.includes('"operation"'))
  expect(ofOperations.length).toBeGreaterThan(5)
  expect(
    ofOperations.filter((text) =>
      /"arguments"|(?:select|returning) (?:"operation"\.)?\*/.test(text),
    ),
  ).toEqual([])
  const asked = await statementsDuring(() => operations.argumentsOf(db, id, 'serverAdd'))
  expect(asked.some((text) => text.includes('"arguments"'))).toBe(true)
})

const withoutSteps = { left_out: ['steps'], steps: [] }
test('a page of operations with very many steps leaves some out, and is made in short turns of the main thread', async () => {
  const own = await startBackend()
  const { accessToken } = await own.signIn({ role: 'viewer' })
  const kind = 'serverReboot'
  await sql`insert into operation (kind, target_kind, target_name, created_by_name, created_at)
    select ${kind}, 'server', 'calm-otter-' || i, 'test', now() from generate_series(1, 300) i`.execute(
    own.platform.db,
  )
  await sql`insert into operation_step (operation_id, key, position, title)
    select id, 'ask/' || (400 - n), n, 'Step ' || n from operation, generate_series(1, 400) n`.execute(
    own.platform.db,
  )
  const url = `${await own.listen()}${operationList.path}?per_page=200`
  const pieces: Uint8Array[] = []
  const { longestTurnMs: longest } = await costOf(async () => {
    const answer = await fetch(url, { headers: { authorization: `Bearer ${accessToken}` } })
    for await (const piece of answer.body!) pieces.push(piece as Uint8Array)
  })
  expect(longest).toBeLessThan(longestTurnMs)
  const page = operationList.answer.parse(JSON.parse(Buffer.concat(pieces).toString()))
  expect(page).toMatchObject({ page: 1, per_page: 200, total: 300 })
  const titles = Array.from({ length: 400 }, (_, i) => `Step ${i + 1}`)
  expect(page.items).toHaveLength(200)
  const [whole, short] = [
    page.items.filter((o) => !o.left_out),
    page.items.filter((o) => o.left_out),
  ]
  for (const { steps } of whole) expect(steps.map(({ title }) => title)).toEqual(titles)
  expect(whole.length).toBeGreaterThan(20)
  expect(short.length).toBeGreaterThan(100)
  for (const { left_out, steps } of short) expect({ left_out, steps }).toEqual(withoutSteps)
})

test('while a cancel is pending, unchanged progress writes nothing', async () => {
  const { id } = await begin()
  const version = async () =>
    (
      await db
        .selectFrom('operation')
        .select('version')
        .where('id', '=', id)
        .executeTakeFirstOrThrow()
    ).version
  await operator.call(operationCancel, { params: { id } })
  await write((tx) => operations.set(tx, id, { status: 'running', reason: 'x' }))
  const before = await version()
  await write((tx) => operations.set(tx, id, { status: 'waiting', reason: 'x' }))
  await write((tx) => operations.set(tx, id, { status: 'running', reason: 'x' }))
  expect(await version()).toBe(before)
  expect((await viewer.call(operationGet, { params: { id } })).answer).toMatchObject({
    status: 'cancelling',
    reason: 'x',
  })
})

test('an unchanged step writes nothing', async () => {
  const { id } = await begin()
  const version = async () =>
    (
      await db
        .selectFrom('operation')
        .select('version')
        .where('id', '=', id)
        .executeTakeFirstOrThrow()
    ).version
  await write((tx) => operations.step(tx, id, 'ask', { status: 'waiting', reason: 'x' }))
  const before = await version()
  await write((tx) => operations.step(tx, id, 'ask', { status: 'waiting', reason: 'x' }))
  expect(await version()).toBe(before)
})

test('a cancel request wakes the reconciler and stays pending until the operation ends', async () => {
  const { id, target } = await begin()
  await write((tx) => operations.set(tx, id, { status: 'running' }))
  await backend.engine.settle()
  woken.length = 0
  expect((await operator.call(operationCancel, { params: { id } })).answer).toMatchObject({
    status: 'cancelling',
  })
  await backend.engine.settle()
  expect(woken).toEqual([target.id])
  expect((await operator.call(operationCancel, { params: { id } })).problem).toMatchObject({
    code: 'operation_ended',
    error: 'The operation is already being cancelled',
  })
  await write((tx) => operations.set(tx, id, { status: 'waiting', reason: 'for the server' }))
  expect(await operations.state(db, id)).toMatchObject({ status: 'cancelling' })
  await write((tx) => operations.set(tx, id, { status: 'cancelled' }))
  await write((tx) => operations.set(tx, id, { status: 'running' }))
  expect((await viewer.call(operationGet, { params: { id } })).answer).toMatchObject({
    status: 'cancelled',
    ended_at: expect.any(String) as string,
  })
  expect((await operator.call(operationCancel, { params: { id } })).problem).toMatchObject({
    code: 'operation_ended',
  })
})

test('only a failed operation can be retried; a retry runs its failed steps again as a new attempt', async () => {
  const { id, target } = await begin()
  await write(async (tx) => {
    await operations.step(tx, id, 'ask', { status: 'done' })
    await operations.step(tx, id, 'wait', { status: 'failed', reason: 'no answer' })
  })
  expect((await operator.call(operationRetry, { params: { id } })).problem).toMatchObject({
    code: 'operation_ended',
    error: 'Only a failed operation can be retried',
  })
  await write((tx) => operations.set(tx, id, { status: 'failed', reason: 'no answer' }))
  await backend.engine.settle()
  woken.length = 0
  const { answer } = await operator.call(operationRetry, { params: { id } })
  expect(answer).toMatchObject({ status: 'running', reason: null, ended_at: null })
  expect(answer!.steps.map((s) => s.status)).toEqual(['done', 'todo'])
  expect(await operations.state(db, id)).toMatchObject({ round: 2, cancel_requested_at: null })
  await backend.engine.settle()
  expect(woken).toEqual([target.id])
})

test('a retry is refused while another operation runs on the same object', async () => {
  const target = { kind: 'server' as const, id: randomUUID() as string, name: 'x' }
  const { id } = await begin(target)
  await write((tx) => operations.set(tx, id, { status: 'failed' }))
  await begin(target)
  expect((await operator.call(operationRetry, { params: { id } })).problem).toMatchObject({
    code: 'operation_running',
  })
})

test("a viewer can read operations but not change them; operations outside of the user's scopes are not found", async () => {
  const { id } = await begin()
  expect((await viewer.call(operationCancel, { params: { id } })).problem).toMatchObject({
    code: 'forbidden',
  })
  const hidden = await write((tx) =>
    operations.create(tx, system, {
      kind: 'clusterCreate',
      target: { id: randomUUID(), name: 'c' },
      queue: 'demo',
      steps: [],
    }),
  )
  await db
    .updateTable('operation')
    .set({ scope: 'users:manage' })
    .where('id', '=', hidden.id)
    .execute()
  expect((await viewer.call(operationGet, { params: { id: hidden.id } })).status).toBe(404)
  expect((await viewer.call(operationCancel, { params: { id: hidden.id } })).status).toBe(404)
  expect((await admin.call(operationGet, { params: { id: hidden.id } })).status).toBe(200)
  const seen = async (who: typeof viewer) =>
    (await who.call(operationList, { query: { per_page: 200 } })).answer!.items.some(
      (o) => o.id === hidden.id,
    )
  expect([await seen(admin), await seen(viewer)]).toEqual([true, false])
})

test('the list of operations is filtered by status, kind, target and user', async () => {
  const target = { kind: 'server' as const, id: randomUUID() as string, name: 'filtered' }
  const { id } = await begin(target)
  const ids = async (query: object) =>
    (
      await viewer.call(operationList, { query: { ...query, target: target.id } })
    ).answer!.items.map((o) => o.id)
  expect(await ids({})).toEqual([id])
  expect(await ids({ status: 'open' })).toEqual([id])
  expect(await ids({ status: 'done' })).toEqual([])
  expect(await ids({ kind: 'clusterCreate' })).toEqual([])
  const { created_by: by } = (await viewer.call(operationGet, { params: { id } })).answer!
  expect([await ids({ by }), await ids({ by: 'somebody@example.com' })]).toEqual([[id], []])
  await write((tx) => operations.set(tx, id, { status: 'done' }))
  expect(await ids({ status: 'open' })).toEqual([])
})

test('the overview shows running and failed operations', async () => {
  const { id } = await begin()
  const { id: failed } = await begin()
  await write((tx) => operations.set(tx, failed, { status: 'failed', reason: 'no answer' }))
  const { answer } = await viewer.call(overviewGet)
  expect(answer!.running?.map((o) => o.id)).toContain(id)
  expect(answer!.failures?.map((o) => o.id)).toContain(failed)
  expect(answer!.servers.total).toBe(0)
})

test('arguments that an older version did not store get their defaults when an operation is read', async () => {
  const target = { id: randomUUID(), name: 'calm-otter-101' }
  const reset = {
    kind: 'serverReset',
    target,
    steps: [],
    queue: 'demo',
    arguments: { keep_workload_disks: true },
  } as const
  const { id } = await write((tx) => operations.create(tx, system, reset))
  const { id: older } = await begin()
  const kept = (of: string) => operations.argumentsOf(db, of, 'serverReset')
  expect([await kept(id), await kept(older), await kept(randomUUID())]).toEqual([
    { keep_workload_disks: true },
    { keep_workload_disks: false },
    { keep_workload_disks: false },
  ])
  // Creating a reset without its arguments doesn't compile.
  expectTypeOf<{
    kind: 'serverReset'
    target: typeof target
    steps: []
    queue: string
  }>().not.toExtend<Parameters<typeof operations.create<'serverReset'>>[2]>()
})

test('steps can be added while an operation runs, each only once', async () => {
  const { id } = await begin()
  const more = [
    { key: 'wait', title: 'Another title' },
    { key: 'reset', title: 'Reset it' },
  ]
  await write((tx) => operations.addSteps(tx, id, more))
  await write((tx) => operations.addSteps(tx, id, more))
  expect((await operations.read(db, id))!.steps.map((s) => s.title)).toEqual([
    'Ask it to reboot',
    'Wait for it',
    'Reset it',
  ])
})

test('an error of the reconciler is shown on the operation and its step until the next success, without secrets', async () => {
  const { id } = await begin()
  await write((tx) => operations.step(tx, id, 'ask', { status: 'running' }))
  const look = async () => {
    const { answer } = await (
      await backend.signIn({ role: 'viewer' })
    ).call(operationGet, { params: { id } })
    return { reason: answer!.reason, steps: answer!.steps.map((s) => s.reason) }
  }
  const version = async () =>
    (
      await db
        .selectFrom('operation')
        .select('version')
        .where('id', '=', id)
        .executeTakeFirstOrThrow()
    ).version
  const before = await version()
  const key = Buffer.alloc(32, 7).toString('base64')
  failing = new Error(
    `bad key ${key}\nin -----BEGIN EC PRIVATE KEY-----\n${key}\n-----END EC PRIVATE KEY-----`,
  )
  await backend.engine.settle()
  const told = 'An unexpected error; Steelyard tries again: bad key … in …'
  expect(await look()).toEqual({ reason: told, steps: [told, null] })
  // The failure is published to viewers, but not again when it repeats.
  const after = await version()
  expect(after).toBeGreaterThan(before)
  await backend.engine.run(10_000)
  expect(await version()).toBe(after)
  failing = Object.assign(new Error('EACCES: permission denied, open'), {
    syscall: 'open',
    code: 'EACCES',
    path: '/var/lib/steelyard/escrow',
  })
  await backend.engine.run(60_000)
  expect((await look()).reason).toBe('/var/lib/steelyard/escrow: permission denied')
  failing = undefined
  await backend.engine.run(600_000)
  expect(await look()).toEqual({ reason: null, steps: [null, null] })
  expect(await version()).toBeGreaterThan(after)
})
