/**
 * What stored shared patches cost the main thread: at their limits, above them (saved before there
 * were limits), and when nothing has changed.
 */
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { beforeEach, expect, test } from 'vitest'
import { findingList } from '#contract/findings/findings.ts'
import { serverUpdate } from '#contract/servers/servers.ts'
import {
  serverSharedPatches,
  sharedPatchCreate,
  sharedPatchGet,
  sharedPatchLimits,
  sharedPatchList,
  sharedPatchRemove,
  sharedPatchRollOut,
  sharedPatchServers,
  sharedPatchUpdate,
  type Targets,
} from '#contract/shared-patches/shared-patches.ts'
import { variableLimits } from '#contract/shared-patches/variables.ts'
import { processorMs } from '../../../../../tools/testing/processor-time.ts'
import { type Backend, startBackend } from '../../../testing/backend.ts'
import { costOf, longestTurnMs } from '../../../testing/turns.ts'
import { buildCluster, buildServer } from '../../servers/testing.ts'

const backend = await startBackend()
const operator = await backend.signIn({ role: 'operator', lasts: true })
const { db } = backend.platform
const none: Targets = { labels: [], cluster_ids: [], roles: [], node_ids: [] }

/** A thousand servers of a cluster, each with a long value of its own. */
const clusterId = randomUUID()
await buildCluster(backend, clusterId, 'shop')
const value = 'v'.repeat(50)
await sql`insert into server (name, address, identity_state, identity_since, uuid, serial, created_at, updated_at, reachable, cluster_id, cluster_name, type, labels)
  select 'many-' || n, host('10.1.0.0'::inet + n), 'confirmed', now(), gen_random_uuid()::text, n::text, now(), now(), true, ${clusterId}, 'shop', 'worker',
    jsonb_build_object('fleet', 'yes', 'a', ${value}::text || n)
  from generate_series(1, 1000) as n`.execute(db)

/** Stores patches without asking whether they may be saved. Their bodies can't be opened. */
const plant = async (patches: number, targets: Partial<Targets>): Promise<void> => {
  const at = new Date()
  await db
    .insertInto('shared_patch')
    .values(
      Array.from({ length: patches }, (_, i) => ({
        name: `planted-${i}`,
        weight: 500,
        body_sealed: Buffer.from('none'),
        targets: JSON.stringify({ ...none, ...targets }),
        created_at: at,
        updated_at: at,
        created_by_name: 'somebody',
        updated_by_name: 'somebody',
      })),
    )
    .execute()
}
beforeEach(() => sql`delete from shared_patch`.execute(db))

/** Selectors of which no condition ends the comparison early, and which no server passes. */
const selectors = (number: number, conditions: number): string[] =>
  Array.from({ length: number }, (_, i) =>
    [...Array.from({ length: conditions - 1 }, () => 'a'), `z${i}`].join(','),
  )
const most = selectors(sharedPatchLimits.selectors, sharedPatchLimits.conditions / 20)

const judge = (of: Backend = backend) => of.domains.findings.judge()
/** The least of several passes: work in the background may share one. */
const passMs = async (): Promise<number> => {
  const passes: number[] = []
  for (let i = 0; i < 7; i++) passes.push(await processorMs(() => judge()))
  return Math.min(...passes)
}

test('with 200 patches at their limits, judging 1,000 servers again costs at most 1.5 times judging them against none', async () => {
  await judge()
  const against = { none: await passMs(), most: 0 }
  await plant(sharedPatchLimits.patches, { labels: most })
  const first = await costOf(() => judge())
  expect(first.longestTurnMs).toBeLessThan(longestTurnMs)
  against.most = await passMs()
  expect(against.most).toBeLessThan(1.5 * against.none)
})

test('patches above the limits, saved before there were any, are judged in slices after a start too', async () => {
  await plant(3, { labels: selectors(20, 333) })
  for (const each of [backend, await startBackend({ beside: backend })]) {
    const { longestTurnMs: turnMs } = await costOf(() => judge(each))
    expect(turnMs).toBeLessThan(longestTurnMs)
  }
  const { longestTurnMs: turnMs } = await costOf(() => judge())
  expect(turnMs).toBeLessThan(longestTurnMs)
})

test('a patch with variables at as many places as it can have them is saved for 1,000 servers in slices', async () => {
  const { places } = variableLimits
  const line = '    k: "{{label.a}}"\n'
  const body = `machine:\n  sysctls:\n${Array.from({ length: places }, (_, i) => line.replace('k', `k${i}`)).join('')}`
  const saved = { status: 0 }
  const { longestTurnMs: turnMs, grownBytes } = await costOf(async () => {
    const called = await operator.call(sharedPatchCreate, {
      body: { name: 'most', body, targets: { labels: ['fleet=yes'] } },
    })
    saved.status = called.status
  })
  expect(saved.status).toBe(201)
  expect(turnMs).toBeLessThan(longestTurnMs)
  expect(grownBytes).toBeLessThan(200 * 1024 ** 2)
})

test.each([
  ['1 MiB of variables', { body: '{{label.a}}'.repeat(95_000) }, /95.000 places.* 2.000 at most/],
  ['too many conditions', { targets: { labels: selectors(20, 333) } }, /6.660 .* 100 at most/],
  [
    'a text that is too long with the values',
    { body: `a: ${'{{label.a}}'.repeat(1_900)}${'#'.repeat(1_000_000)}` },
    /With the values of many-\d+ the patch has 1.\d{3}.\d{3} bytes.* 1.048.576 at most/,
  ],
])('%s is refused with both numbers, in slices', async (_what, asked, sentence) => {
  const body = {
    name: 'bomb',
    body: 'machine: {}\n',
    targets: { labels: ['fleet=yes'] },
    ...asked,
  }
  let problem: unknown
  const { longestTurnMs: turnMs } = await costOf(async () => {
    ;({ problem } = await operator.call(sharedPatchCreate, { body }))
  })
  expect(problem).toMatchObject({
    code: 'invalid',
    error: expect.stringMatching(sentence) as string,
  })
  expect(turnMs).toBeLessThan(longestTurnMs)
})

test('what is saved above a limit is read, renamed and rolled out, made smaller, and only not left so large', async () => {
  const saved = await operator.call(sharedPatchCreate, {
    body: { name: 'old', body: 'machine: {}\n', targets: { labels: ['fleet=yes'] } },
  })
  const params = { id: saved.answer!.id }
  const labels = ['fleet=yes', ...selectors(19, 333)]
  await sql`update shared_patch set targets = ${JSON.stringify({ ...none, labels })}::jsonb, version = version + 1`.execute(
    db,
  )
  const numbers = { targets: 1000, current: 0, behind: 1000 }
  expect((await operator.call(sharedPatchGet, { params })).answer!.servers).toEqual(numbers)
  expect((await operator.call(sharedPatchList)).answer!.items).toMatchObject([{ servers: numbers }])
  const update = (body: object) => operator.call(sharedPatchUpdate, { params, body })
  expect(await update({ name: 'older', targets: { labels } })).toMatchObject({ status: 200 })
  const less = { targets: { labels: labels.slice(1) } }
  expect((await update(less)).problem).toMatchObject({ code: 'invalid' })
  const { items } = (await operator.call(sharedPatchServers, { params })).answer!
  expect(items).toHaveLength(1000)
  const [one] = items
  expect(
    (await operator.call(serverSharedPatches, { params: { id: one!.server.id } })).answer!.items,
  ).toMatchObject([{ name: 'older', state: 'behind', revision: null }])
  const rolled = await operator.call(sharedPatchRollOut, {
    params,
    body: { node_ids: [one!.server.id] },
  })
  expect(rolled.status).toBe(202)
  await sql`delete from shared_roll_out`.execute(db)
  await sql`update operation set status = 'done', ended_at = now()`.execute(db)
  expect(await update({ targets: { labels: ['fleet=no'] } })).toMatchObject({
    answer: { servers: { targets: 0 } },
  })
  expect((await operator.call(sharedPatchRemove, { params })).status).toBe(204)
})

test('a change of a server, of a patch or of what a server has is judged', async () => {
  const id = await buildServer(backend, {
    name: 'turning',
    reachable: true,
    cluster_id: clusterId,
    cluster_name: 'shop',
  })
  const reasons = async () => {
    await judge()
    const { answer } = await operator.call(findingList, { query: { object: id, ended: 'false' } })
    return answer!.items.map(({ reason }) => reason)
  }
  const label = (turn: string) =>
    operator.call(serverUpdate, { params: { id }, body: { labels: { turn } } })
  expect(await reasons()).toEqual([])
  const { answer } = await operator.call(sharedPatchCreate, {
    body: { name: 'now', body: 'machine: {}\n', targets: { labels: ['turn=on'] } },
  })
  const params = { id: answer!.id }
  expect(await reasons()).toEqual([])
  await label('on')
  expect(await reasons()).toEqual([expect.stringContaining('shared patch now')])
  await operator.call(sharedPatchUpdate, { params, body: { name: 'then' } })
  expect(await reasons()).toEqual([expect.stringContaining('shared patch then')])
  await sql`insert into shared_layer (server_id, patch_id, revision, name, weight, body_sealed, filled, created_at)
    values (${id}, ${params.id}, 2, 'then', 500, '', '{}', now())`.execute(db)
  expect(await reasons()).toEqual([])
  await label('off')
  expect(await reasons()).toEqual([expect.stringContaining('not for it')])
  await sql`delete from shared_layer`.execute(db)
  await sql`update server set status = 'deleted', removed_at = now(), cluster_id = null, cluster_name = null where id = ${id}`.execute(
    db,
  )
  expect(await reasons()).toEqual([])
  expect((await operator.call(sharedPatchGet, { params })).answer!.servers).toEqual({
    targets: 0,
    current: 0,
    behind: 0,
  })
})
