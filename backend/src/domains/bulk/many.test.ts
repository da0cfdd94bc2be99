/** Acts on hundreds of servers, which need no machine. */
import { expect, test } from 'vitest'
import { operationCancel, operationGet, operationList } from '#contract/operations.ts'
import { bulkLimit, serverBulk, serverBulkPlan, tooManyServers } from '#contract/servers/bulk.ts'
import { serverList, serverUpdate } from '#contract/servers/servers.ts'
import { longTests } from '../../../../tools/testing/length.ts'
import { startBackend } from '../../testing/backend.ts'
import { claimNow } from '../../testing/engine.ts'
import { buildServer } from '../servers/testing.ts'
import { bulkQueue } from './carrying.ts'
import { lanesNow } from './turn.ts'

const backend = await startBackend()
const admin = await backend.signIn()
const names = Array.from({ length: bulkLimit + 1 }, (_, i) => `many-${String(i).padStart(3, '0')}`)
const ids: string[] = []
for (const [i, name] of names.entries())
  ids.push(await buildServer(backend, { name, address: `10.0.${i >> 8}.${i & 255}` }))

/** `npm test` acts on a hundred of them. */
const [q, acted] = longTests ? ['many-', bulkLimit] : ['many-0', 100]
const body = { act: { kind: 'remove' as const }, filter: `q=${q}` }

test('a run begins all clusters that wait for their windows, and of others a few', () => {
  const lanes = Array.from({ length: 20 }, (_, i) => i)
  expect(lanesNow(lanes, { kind: 'upgrade', in_window: true })).toEqual(lanes)
  expect(lanesNow(lanes, { kind: 'upgrade', in_window: false })).toEqual(lanes.slice(0, 8))
})

test('an act that would begin at once is refused if it is asked to wait for a maintenance window', async () => {
  const { status, problem } = await admin.call(serverBulkPlan, {
    body: { act: { kind: 'reboot', in_window: true }, node_ids: ids.slice(0, 1) },
  })
  expect(status).toBe(422)
  expect(problem!.fields).toEqual({
    'act.in_window':
      'Only an upgrade waits for maintenance windows: every other act begins at once',
  })
})

test('more servers than one act takes are refused', async () => {
  const { status, problem } = await admin.call(serverBulkPlan, {
    body: { ...body, filter: 'q=many-' },
  })
  expect([status, problem!.fields]).toEqual([422, { filter: tooManyServers }])
})

test(
  'of many servers 37 refuse: the others are removed, each with its result, and the 37 are tried again',
  { timeout: 300_000 },
  async () => {
    const last = ids.at(-1)!
    await admin.call(serverUpdate, { params: { id: last }, body: { name: 'other-1' } })
    const { answer: plan } = await admin.call(serverBulkPlan, { body })
    expect(plan).toMatchObject({ allowed: acted, refused: 0, expected: acted })
    const changed = new Set(ids.slice(0, 37))
    for (const id of changed)
      await admin.call(serverUpdate, { params: { id }, body: { notes: 'a' } })
    const begun = await admin.call(serverBulk, {
      body: {
        act: plan!.act,
        items: plan!.items.map(({ id, version }) => ({ id, version })),
        expected: acted,
      },
    })
    expect(begun.status).toBe(202)
    await backend.engine.run(60_000)
    const { id } = begun.answer!.operation
    const { answer: end } = await admin.call(operationGet, { params: { id } })
    expect(end).toMatchObject({
      status: 'failed',
      reason: expect.stringMatching(
        `^37 of ${acted} servers were not removed\\. Remove many-`,
      ) as string,
    })
    const of = (status: string) => end!.steps.filter((s) => s.status === status)
    expect(new Set(of('failed').map((s) => s.node_id))).toEqual(changed)
    expect(of('done')).toHaveLength(acted - 37)
    const { answer: left } = await admin.call(serverList, { query: { q, per_page: 1 } })
    expect(left!.total).toBe(37)
    // Every server has an operation of its own as well.
    const { answer: own } = await admin.call(operationList, {
      query: { kind: 'serverRemove', per_page: 1 },
    })
    expect(own!.total).toBe(acted - 37)
    const by = await backend.database.db
      .selectFrom('operation')
      .select('created_by')
      .distinct()
      .execute()
    expect(by).toEqual([{ created_by: expect.any(String) as string }])

    const { answer: again } = await admin.call(serverBulkPlan, {
      body: { act: { kind: 'remove' }, failed_of: id },
    })
    expect(new Set(again!.items.map((one) => one.id))).toEqual(changed)
    expect(again).toMatchObject({ allowed: 37, expected: 37 })
  },
)

test('nothing begins if every server refuses, and an operation of another kind has no failed servers', async () => {
  const { answer: plan } = await admin.call(serverBulkPlan, {
    body: { act: { kind: 'reboot' }, filter: body.filter },
  })
  expect(plan).toMatchObject({ allowed: 0, refused: 37, expected: null })
  const { status, problem } = await admin.call(serverBulk, {
    body: { act: plan!.act, items: plan!.items.map(({ id, version }) => ({ id, version })) },
  })
  expect([status, problem!.code]).toEqual([409, 'transition_refused'])
  const { answer: own } = await admin.call(operationList, {
    query: { kind: 'serverRemove', per_page: 1 },
  })
  expect(
    (
      await admin.call(serverBulkPlan, {
        body: { act: { kind: 'remove' }, failed_of: own!.items[0]!.id },
      })
    ).status,
  ).toBe(404)
})

test('a cancel in the middle leaves what is done, begins nothing more, and says so for each server; one that got the label meanwhile takes no part', async () => {
  const { engine, db } = backend.platform
  const labelled = (n: number) =>
    buildServer(backend, { name: `cut-${n}`, labels: JSON.stringify({ rack: '3' }) })
  for (let n = 0; n < 60; n++) await labelled(n)
  const { answer: plan } = await admin.call(serverBulkPlan, {
    body: { act: body.act, filter: 'label=rack%3D3' },
  })
  const begun = await admin.call(serverBulk, {
    body: {
      act: plan!.act,
      items: plan!.items.map(({ id, version }) => ({ id, version })),
      expected: 60,
    },
  })
  const params = { id: begun.answer!.operation.id }
  // One run acts on fifty servers.
  const { key } = await db
    .selectFrom('wake_up')
    .select('key')
    .where('queue', '=', bulkQueue)
    .where('due_at', 'is not', null)
    .executeTakeFirstOrThrow()
  await engine.run((await claimNow(engine, bulkQueue, key))!, new AbortController().signal)
  const late = await labelled(60)
  await admin.call(operationCancel, { params })
  await backend.engine.run(60_000)
  const { answer: end } = await admin.call(operationGet, { params })
  expect(end).toMatchObject({ status: 'cancelled', reason: 'Cancelled after 50 of 60 servers' })
  const removed = new Set(end!.steps.flatMap((s) => (s.status === 'done' ? [s.node_id] : [])))
  const stayed = end!.steps.filter((s) => s.status === 'skipped' && s.reason === 'Cancelled')
  expect([removed.size, stayed.length]).toEqual([50, 10])
  const { answer: left } = await admin.call(serverList, { query: { label: 'rack=3' } })
  expect(new Set(left!.items.map((s) => s.id))).toEqual(
    new Set([late, ...stayed.map((s) => s.node_id)]),
  )
})
