/** The upgrade of Talos on servers of several clusters, with simulated machines. */
import { expect, test } from 'vitest'
import { clusterWindowSet } from '#contract/clusters/changes/changes.ts'
import { weekdays } from '#contract/clusters/changes/window.ts'
import { type Cluster, clusterDelete } from '#contract/clusters/clusters.ts'
import { hasEnded, type Operation, operationCancel, operationList } from '#contract/operations.ts'
import { apiTokenCreate } from '#contract/people/api-tokens.ts'
import { Problem } from '#contract/errors.ts'
import { no } from '#contract/rule.ts'
import { type BulkPlan, serverBulk, serverBulkPlan } from '#contract/servers/bulk.ts'
import type { Server } from '#contract/servers/servers.ts'
import { longTest } from '../../../../tools/testing/long-test.ts'
import { clusterWorld } from '../clusters/testing/world.ts'
import { canUpgrade, outlooks, reached } from './upgrading.ts'

const world = await clusterWorld({ servers: 5 })
const { admin, backend } = world
const three = world.take(3)
const single = world.take(1)
const [idle] = world.take(1)
const asked = { talos_version: 'v1.13.8' }
const created = [await world.create(three, asked), await world.create(single, asked)]
for (const { operation } of created) await world.ended(operation.id)
const [web, lone] = created.map(({ cluster }) => cluster)

const actOf = (talos_version: string, more: { in_window?: boolean } = {}) => ({
  kind: 'upgrade' as const,
  talos_version,
  ...more,
})
const planned = async (
  servers: readonly Server[],
  act: ReturnType<typeof actOf> = actOf('v1.13.9'),
): Promise<BulkPlan> => {
  const { answer, text } = await admin.call(serverBulkPlan, {
    body: { act, node_ids: servers.map(({ id }) => id) },
  })
  if (!answer) throw new Error(text)
  return answer
}
const begin = async (plan: BulkPlan) => {
  const called = await admin.call(serverBulk, {
    body: {
      act: plan.act,
      items: plan.items.flatMap(({ ok, id, version }) => (ok ? [{ id, version }] : [])),
    },
  })
  if (!called.answer) throw new Error(called.text)
  return called.answer.operation
}
const reasons = ({ items }: BulkPlan) => new Set(items.map((one) => one.reason))
const versions = (servers: readonly Server[]) =>
  servers.map((one) => world.machine(one).talosVersion)

test('a cluster whose plan has no turn is not refused: the whole act is to be planned again', async () => {
  const around = new Map(
    Array.from({ length: 8 }, (_, n) => {
      const id = String(n)
      return [id, { id, name: id, operation_id: null } as Cluster] as const
    }),
  )
  const asked: string[] = []
  const parts = (problem: Problem) => ({
    ...backend.platform,
    operations: {} as Parameters<typeof outlooks>[0]['operations'],
    clusters: {
      plan: (id: string) => {
        asked.push(id)
        return Promise.reject(problem)
      },
    } as unknown as Parameters<typeof outlooks>[0]['clusters'],
  })
  const { signal } = new AbortController()
  const act = { keep_workload_disks: false, in_window: false, ...actOf('v1.13.9') }
  const again = new Problem('unavailable', 'Too many plans', undefined, 5)
  await expect(outlooks(parts(again), act, around, signal)).rejects.toBe(again)
  expect(asked.length).toBeLessThan(8)
  const refusal = new Problem('cluster_not_ready', 'Not ready')
  const found = await outlooks(parts(refusal), act, around, signal)
  const kept = { ok: false, reason: 'Not ready', kind: 'for_now' }
  expect([...found.values()].map((one) => one.refusal)).toEqual(
    Array.from({ length: 8 }, () => kept),
  )
})

test('a cluster of which only some servers are chosen is refused with the names of the others', async () => {
  const [left, ...chosen] = three
  expect(await planned([...chosen, ...single])).toMatchObject({ allowed: 1, refused: 2 })
  expect(reasons(await planned(chosen))).toEqual(
    new Set([`The servers of ${web!.name} are upgraded together: choose ${left!.name} as well`]),
  )
})

test('a server that an earlier upgrade has reached is refused, and the others of its cluster are not', () => {
  const [there, ...others] = three.map((one) => ({ ...one, cluster: web! }))
  const outlook = {
    refusal: null,
    upgraded: new Map(others.map(({ id, name }) => [id, name])),
    warnings: [],
  }
  const act = { keep_workload_disks: false, in_window: false, ...actOf('v1.13.9') }
  const chosen = new Set(three.map(({ id }) => id))
  const verdicts = [there!, ...others].map((one) => canUpgrade(one, act, outlook, chosen))
  expect(verdicts).toEqual([
    no('It runs Talos v1.13.9 already: nothing to do'),
    { ok: true },
    { ok: true },
  ])
})

test.each([
  ['v1.13.8', 'Every server runs Talos v1.13.8 already'],
  [
    'v1.12.11',
    "Talos v1.13.8 can't become v1.12.11: Talos does not go back to an older minor; Talos 1.12 runs Kubernetes 1.30 to 1.35, not 1.36.3",
  ],
  ['v1.15.0', 'Talos v1.15.0 is not supported; choose 1.12, 1.13 or 1.14'],
  ['v1.13.77', 'The image factory does not build Talos v1.13.77'],
])('an upgrade to %s is refused for each server', async (version, reason) => {
  const plan = await planned(single, actOf(version))
  expect(plan).toMatchObject({ allowed: 0, refused: 1 })
  expect(reasons(plan)).toEqual(new Set([reason]))
})

test('a server without a cluster, and a cluster without the window that it should wait for, are refused', async () => {
  expect(reasons(await planned([idle!]))).toEqual(
    new Set(['It is in no cluster: a server gets the Talos version of the cluster that it joins']),
  )
  expect(reasons(await planned(three, actOf('v1.13.9', { in_window: true })))).toEqual(
    new Set([`${web!.name} has no maintenance window: set one first`]),
  )
})

test.each([
  ['no version', { kind: 'upgrade' as const }],
  ['a version for another act', { kind: 'reboot' as const, talos_version: 'v1.13.9' }],
])('%s is refused with a sentence', async (_name, act) => {
  const { status, problem } = await admin.call(serverBulkPlan, {
    body: { act, node_ids: [idle!.id] },
  })
  expect(status).toBe(422)
  expect(problem!.fields).toEqual({
    'act.talos_version': 'An upgrade, and no other act, has a Talos version',
  })
})

test('an API token that may not change clusters upgrades none', async () => {
  const { answer: made } = await admin.call(apiTokenCreate, {
    body: { name: 'servers', scopes: ['servers:write'] },
  })
  const { status, problem } = await backend.call(
    serverBulkPlan,
    { body: { act: actOf('v1.13.9'), node_ids: [single[0]!.id] } },
    { headers: { authorization: `Bearer ${made!.token}` } },
  )
  expect([status, problem!.error]).toEqual([403, 'The API token does not include clusters:write'])
})

test(
  'two clusters upgrade their servers, each by its own upgrade, and every server has its result',
  { timeout: 600_000 },
  async () => {
    const chosen = [...three, ...single]
    const plan = await planned([...chosen, idle!])
    expect(plan).toMatchObject({ allowed: 4, refused: 1, expected: null })
    expect(plan.warnings).toContainEqual(
      expect.stringMatching(`^${web!.name}: No snapshot of etcd`),
    )
    const { id } = await begin(plan)
    const end = await world.ended(id)
    expect(end).toMatchObject({
      status: 'done',
      reason: null,
      target: { name: 'Talos upgrade of 4 servers' },
    })
    expect(end.steps.map((s) => s.status)).toEqual(['done', 'done', 'done', 'done'])
    expect(versions(chosen)).toEqual(chosen.map(() => 'v1.13.9'))
    const { answer: own } = await admin.call(operationList, {
      query: { kind: 'clusterUpgradeTalos' },
    })
    expect(own!.items.map((o) => [o.status, o.created_by])).toEqual([
      ['done', end.created_by],
      ['done', end.created_by],
    ])
    // The upgrade of a cluster that stopped half way tells what each of its servers has reached.
    const upgrade = own!.items.find((o) => o.target.id === web!.id)!
    const [first] = three
    const stopped = {
      ...upgrade,
      status: 'failed' as const,
      reason: 'It broke',
      steps: upgrade.steps.map((s) =>
        s.node_id === first!.id ? { ...s, status: 'skipped' as const } : s,
      ),
    }
    expect(three.map((one) => reached(stopped, one.id))).toEqual([
      { status: 'skipped', reason: 'The upgrade of its cluster stopped: It broke' },
      { status: 'done', reason: null },
      { status: 'done', reason: null },
    ])
  },
)

/** The maintenance window of these clusters opens in so many hours. */
const openIn = async (hours: number, clusters: readonly { id: string }[]) => {
  const from = new Date(world.backend.clock.now() + hours * 3_600_000).toISOString().slice(11, 16)
  const window = { days: [...weekdays], from, minutes: 180, time_zone: 'UTC' }
  for (const { id } of clusters)
    expect((await admin.call(clusterWindowSet, { params: { id }, body: { window } })).status).toBe(
      200,
    )
}
/** Begins an upgrade in the windows, and returns it when each of its servers waits. */
const waiting = async (servers: readonly Server[]) => {
  const act = actOf('v1.13.8', { in_window: true })
  const { id } = await begin(await planned(servers, act))
  const seen = await world.until(
    () => world.operation(id),
    (o) => o.steps.every((s) => s.status === 'waiting'),
  )
  for (const { reason } of seen.steps) expect(reason).toMatch(/^Waits for the maintenance window: /)
  return seen
}
const upgradeOf = async ({ id: target }: { id: string }) =>
  (
    await admin.call(operationList, {
      query: { target, kind: 'clusterUpgradeTalos', sort: '-created_at' },
    })
  ).answer!.items[0]!

test('an upgrade that waited for its window restarts no server that was not chosen', async () => {
  await openIn(8, [web!])
  const { id } = await waiting(three)
  // As if this server had joined the cluster meanwhile.
  const [joined] = three
  await backend.database.pool.query(
    `update operation set arguments = jsonb_set(arguments::jsonb, '{chosen}', (arguments::jsonb->'chosen') - $2) where id = $1`,
    [(await upgradeOf(web!)).id, joined!.id],
  )
  await openIn(-1, [web!])
  const why = `It did not begin: It would restart ${joined!.name} as well, which nobody chose: plan it again`
  const upgrade = await world.ended((await upgradeOf(web!)).id)
  expect(upgrade).toMatchObject({ status: 'failed', reason: why })
  backend.clock.advance(15_000)
  const end = await world.ended(id)
  expect(end.status).toBe('failed')
  expect(end.steps.map((s) => [s.status, s.reason])).toEqual(
    three.map(() => ['skipped', `The upgrade of its cluster stopped: ${why}`]),
  )
})

longTest(
  'while clusters wait for their windows, one is deleted, and the act is cancelled: every server says why it stays',
  async () => {
    await openIn(8, [web!, lone!])
    const { id } = await waiting([...three, ...single])
    expect((await admin.call(clusterDelete, { params: { id: lone!.id } })).status).toBe(202)
    const { id: waited } = await upgradeOf(lone!)
    await world.until(() => world.operation(waited), hasEnded)
    backend.clock.advance(15_000)
    const of = (status: string) => (o: Operation) => o.steps.filter((s) => s.status === status)
    const after = await world.until(
      () => world.operation(id),
      (o) => of('skipped')(o).length > 0,
    )
    expect(of('skipped')(after)).toMatchObject([
      {
        node_id: single[0]!.id,
        reason: 'The upgrade of its cluster stopped: The cluster is being deleted',
      },
    ])
    expect(of('waiting')(after)).toHaveLength(three.length)
    await admin.call(operationCancel, { params: { id } })
    const end = await world.ended(id)
    expect(end).toMatchObject({ status: 'cancelled', reason: 'Cancelled after 0 of 4 servers' })
    expect(of('skipped')(end).map((s) => s.reason)).toEqual(
      expect.arrayContaining(three.map(() => 'Nothing was changed')),
    )
    expect(versions(three)).toEqual(three.map(() => 'v1.13.9'))
  },
)
