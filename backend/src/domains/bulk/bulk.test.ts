/** Acts on many servers of two clusters, with simulated machines. */
import { longTest } from '../../../../tools/testing/long-test.ts'
import { describe, expect, test } from 'vitest'
import { hasEnded, type Operation, operationCancel, operationRetry } from '#contract/operations.ts'
import { type BulkAct, type BulkPlan, serverBulk, serverBulkPlan } from '#contract/servers/bulk.ts'
import { onlyInCluster, serverUpdate } from '#contract/servers/servers.ts'
import { addFault, clearFaults } from '#simulator/src/machine/trouble.ts'
import { clusterWorld } from '../clusters/testing/world.ts'
import { changedSince } from './turn.ts'

const world = await clusterWorld({ servers: 9, speed: 30 })
const { admin } = world
const large = world.take(5)
const small = world.take(3)
const [alone] = world.take(1)
const made = [await world.create(large), await world.create(small)]
for (const { operation } of made) await world.ended(operation.id)
const [many, few] = made.map(({ cluster }) => cluster)
/** The first three are control planes. */
const [first, second, third, ...workers] = large

const planned = async (
  kind: BulkAct['kind'],
  servers: readonly { id: string }[],
): Promise<BulkPlan> => {
  const { answer, text } = await admin.call(serverBulkPlan, {
    body: { act: { kind }, node_ids: servers.map(({ id }) => id) },
  })
  if (!answer) throw new Error(text)
  return answer
}
const bodyOf = ({ act, items, expected }: BulkPlan) => ({
  act,
  items: items.flatMap(({ ok, id, version }) => (ok ? [{ id, version }] : [])),
  ...(expected !== null && { expected }),
})
const begin = async (plan: BulkPlan) => {
  const called = await admin.call(serverBulk, { body: bodyOf(plan) })
  if (!called.answer) throw new Error(called.text)
  return called.answer.operation
}
/**
 * Plans and carries out the act until no server is refused because a contact has changed what is
 * known of it since its plan.
 */
const repeated = async (
  kind: BulkAct['kind'],
  of: { node_ids: string[] } | { failed_of: string },
): Promise<Operation> => {
  const { answer: plan } = await admin.call(serverBulkPlan, { body: { act: { kind }, ...of } })
  const { answer, problem } = await admin.call(serverBulk, { body: bodyOf(plan!) })
  if (problem?.error.includes(changedSince) === true) return repeated(kind, of)
  const end = await world.ended(answer!.operation.id)
  return end.steps.some((s) => s.reason === changedSince)
    ? repeated(kind, { failed_of: end.id })
    : end
}

describe('the plan', () => {
  test('a server without a cluster is refused with the reason of the act on one server', async () => {
    const plan = await planned('reboot', [...large, ...small, alone!])
    expect(plan).toMatchObject({ allowed: 8, refused: 1, expected: null })
    expect(plan.items.at(-1)).toMatchObject({ id: alone!.id, ok: false, reason: onlyInCluster })
  })

  test('the servers of a cluster follow each other, workers first', async () => {
    const { items } = await planned('reboot', large)
    expect(items.map((one) => one.role)).toEqual([
      'worker',
      'worker',
      'control_plane',
      'control_plane',
      'control_plane',
    ])
  })

  test('two of three control planes are rebooted one after another, so that etcd keeps its majority', async () => {
    const { warnings } = await planned('reboot', [first!, second!, ...small])
    expect(warnings).toEqual(
      expect.arrayContaining([
        `2 of 3 control planes of ${many!.name}: together they would leave etcd without a majority, so they are rebooted one after another, and each waits until the others are well`,
        `${few!.name} has one control plane: its Kubernetes API does not answer until the server is back`,
      ]),
    )
  })

  test('a reset of every control plane of a cluster is refused, of all but one it warns', async () => {
    const every = await planned('reset', [first!, second!, third!, workers[0]!])
    expect(every).toMatchObject({ allowed: 1, refused: 3, expected: 1 })
    expect(every.items.at(-1)!.reason).toBe(
      `The selection has every control plane of ${many!.name}: leave one out, or delete the cluster instead`,
    )
    // The address of the first one is the cluster's endpoint, so that one can't leave.
    const two = await planned('reset', [second!, third!])
    expect(two).toMatchObject({ allowed: 2, expected: 2 })
    expect(two.warnings).toEqual([
      `${many!.name}: With one control plane, the cluster is down while that server is down. Three are recommended.`,
    ])
  })

  test('a reset names the disks that it wipes, a removal none', async () => {
    const { items } = await planned('reset', [workers[0]!])
    const installed = many!.servers.find((m) => m.node_id === workers[0]!.id)!.install_disk!
    expect(items[0]!.disks.map((d) => `/dev/${d.id}`)).toContain(installed)
    expect(items[0]!.disks[0]).toHaveProperty('size')
    expect((await planned('remove', [alone!])).items[0]).toMatchObject({ ok: true, disks: [] })
  })

  test('a filter of the list chooses servers on all pages', async () => {
    const { answer } = await admin.call(serverBulkPlan, {
      body: { act: { kind: 'reboot' }, filter: `cluster=${many!.name}&per_page=2` },
    })
    expect(answer!.items.map((one) => one.id).toSorted()).toEqual(
      large.map(({ id }) => id).toSorted(),
    )
  })

  test.each([
    ['filter=nothing', { filter: 'nothing=1' }, 'filter'],
    ['two ways to choose', { filter: 'q=a', node_ids: [alone!.id] }, 'node_ids'],
    ['no way to choose', {}, 'node_ids'],
  ])('%s is refused with a sentence', async (_name, body, field) => {
    const { problem, status } = await admin.call(serverBulkPlan, {
      body: { act: { kind: 'reboot' }, ...body },
    })
    expect(status).toBe(422)
    expect(problem!.fields).toHaveProperty(field)
  })
})

test('a dangerous act needs the number of its servers', async () => {
  const { act, items } = await planned('remove', [alone!])
  const body = { act, items: items.map(({ id, version }) => ({ id, version })) }
  for (const expected of [undefined, 2]) {
    const { status, problem } = await admin.call(serverBulk, {
      body: { ...body, ...(expected !== undefined && { expected }) },
    })
    expect([status, problem!.fields]).toEqual([422, { expected: expect.any(String) as string }])
  }
  expect((await world.server(alone!.id)).status).toBe('maintenance')
})

/** Whether each of these servers had its turn after the one before it. */
const expectInTurn = ({ steps }: Operation, servers: readonly { id: string }[]) => {
  const inTime = servers
    .map(({ id }) => steps.find((s) => s.node_id === id)!)
    .toSorted((a, b) => Date.parse(a.started_at!) - Date.parse(b.started_at!))
  expect(inTime.map((s) => s.status)).toEqual(servers.map(() => 'done'))
  for (const [i, { ended_at }] of inTime.slice(0, -1).entries())
    expect(Date.parse(inTime[i + 1]!.started_at!)).toBeGreaterThanOrEqual(Date.parse(ended_at!))
}

longTest('two control planes are rebooted one after another', { timeout: 600_000 }, async () => {
  const two = [second!, third!]
  const boots = (id: string) => world.machine({ id }).disk.state.counters.reboots
  const before = two.map(({ id }) => boots(id))
  const { id: operationId } = await begin(await planned('reboot', two))
  // A restart that no query saw counts as over after a minute.
  const end = await world.until(async () => {
    world.backend.clock.advance(1_000)
    return world.operation(operationId)
  }, hasEnded)
  expect(end).toMatchObject({
    status: 'done',
    target: { kind: 'server', id: null, name: 'reboot of 2 servers' },
  })
  expectInTurn(end, two)
  expect(two.map(({ id }) => boots(id))).toEqual(before.map((n) => n + 1))
})

test(
  'a refusal stops no other server, and those that failed are planned again',
  { timeout: 600_000 },
  async () => {
    const plan = await planned('restart_kubelet', [...large, small[1]!, alone!])
    const operation = await begin({ ...plan, items: plan.items.map((i) => ({ ...i, ok: true })) })
    const end = await world.ended(operation.id)
    expect(end).toMatchObject({
      status: 'failed',
      reason: `1 of 7 servers was not restarted. Restart kubelet ${alone!.name}: ${onlyInCluster}`,
    })
    expect(end.steps.find((s) => s.node_id === alone!.id)).toMatchObject({
      status: 'failed',
      reason: onlyInCluster,
    })
    expectInTurn(end, large)

    // A retry of the operation itself is refused.
    expect(
      (await admin.call(operationRetry, { params: { id: operation.id }, body: {} })).problem,
    ).toMatchObject({ error: 'Plan it again for the servers that failed' })
    const { answer: again } = await admin.call(serverBulkPlan, {
      body: { act: { kind: 'restart_kubelet' }, failed_of: operation.id },
    })
    expect(again!.items).toMatchObject([{ id: alone!.id, ok: false, reason: onlyInCluster }])
  },
)

test(
  'after a cancel the servers that were not begun stay as they are',
  { timeout: 600_000 },
  async () => {
    const plan = await planned('reboot', workers)
    const [slow, next] = plan.items.map(({ id }) => workers.find((w) => w.id === id)!)
    // The first server answers nothing from its next boot on.
    await addFault(world.machine(slow!), { kind: 'refuse', stage: 'booting' })
    const operation = await begin(plan)
    await world.until(
      () => world.operation(operation.id),
      (o) => o.steps[0]!.status !== 'todo',
    )
    await admin.call(operationCancel, { params: { id: operation.id } })
    const end = await world.ended(operation.id)
    await clearFaults(world.machine(slow!))
    expect(end).toMatchObject({
      status: 'cancelled',
      reason: expect.stringMatching(/^Cancelled after \d of 2 servers$/) as string,
    })
    expect(end.steps.find((s) => s.node_id === next!.id)).toMatchObject({
      status: 'skipped',
      reason: 'Cancelled',
    })
  },
)

test(
  'a reset takes the workers out of their cluster, one after another',
  { timeout: 600_000 },
  async () => {
    const leaving = small.slice(1)
    const node_ids = leaving.map(({ id }) => id)
    expect(await repeated('reset', { node_ids })).toMatchObject({ status: 'done' })
    for (const id of node_ids)
      expect(await world.server(id)).toMatchObject({ status: 'maintenance', cluster: null })

    // One of them changes after the plan. A contact may change the other one, too.
    const [changed] = leaving
    const plan = await planned('remove', leaving)
    await admin.call(serverUpdate, { params: { id: changed!.id }, body: { notes: 'look' } })
    const { answer, problem } = await admin.call(serverBulk, { body: bodyOf(plan) })
    const steps = answer ? (await world.ended(answer.operation.id)).steps : []
    const why = problem?.error ?? steps.find((s) => s.node_id === changed!.id)!.reason
    expect(why).toContain(changedSince)
    expect((await world.server(changed!.id)).status).toBe('maintenance')

    const rest = answer ? { failed_of: answer.operation.id } : { node_ids }
    expect(await repeated('remove', rest)).toMatchObject({ status: 'done', reason: null })
    for (const id of node_ids) expect((await world.server(id)).status).toBe('deleted')
  },
)
