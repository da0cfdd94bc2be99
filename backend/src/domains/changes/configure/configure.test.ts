/** A change of patches on a running cluster of three control planes and two workers. */
import { describe, expect, test } from 'vitest'
import { clusterChange, clusterPlan } from '#contract/clusters/changes/changes.ts'
import { clusterHealth } from '#contract/clusters/health.ts'
import { operationCancel, operationRetry } from '#contract/operations.ts'
import { patchCreate, patchList } from '#contract/patches.ts'
import { overviewGet } from '#contract/overview.ts'
import { type Server, serverRows } from '#contract/servers/servers.ts'
import { apiTokenCreate } from '#contract/people/api-tokens.ts'
import { addFault, clearFaults } from '#simulator/src/machine/trouble.ts'
import { connectSecure } from '#talos/client/connect.ts'
import { longTest } from '../../../../../tools/testing/long-test.ts'
import { configuringQueue } from '../../configurations/api.ts'
import { looksAt } from '../../clusters/testing/looks.ts'
import { effectsOf } from '../../clusters/testing/effects.ts'
import { clusterWorld } from '../../clusters/testing/world.ts'
import { upgradeWorld } from '../talos-upgrade/testing.ts'

const world = await clusterWorld({ servers: 5 })
const { admin } = world
const { holdAt } = effectsOf(world)
const nodes = world.take(5)
const { cluster, operation: creation } = await world.create(nodes)
await world.ended(creation.id)
const params = { id: cluster.id }

const sysctl = (key: string, value: string) => `machine:\n  sysctls:\n    ${key}: "${value}"\n`
const udev = 'machine:\n  udev:\n    rules:\n      - SUBSYSTEM=="drm", MODE="0666"\n'
const patchNamed = (name: string, body: string) => ({ name, weight: 500, labels: {}, body })
const configureWith = (patches: ReturnType<typeof patchNamed>[], more: object = {}) => ({
  kind: 'configure' as const,
  patches,
  ...more,
})
const planOf = async (change: Parameters<typeof world.change>[1]) => {
  const called = await admin.call(clusterPlan, { params, body: { change } })
  if (!called.answer) throw new Error(called.text)
  return called.answer
}
const namesOf = async (id: string) =>
  (await admin.call(patchList, { params: { id } }))
    .answer!.items.filter((p) => !p.read_only)
    .map((p) => p.name)
/** With double quotes, because a document that is written again may get others. */
const configOf = (node: { id: string }) =>
  (world.machine(node).disk.state.config ?? '').replaceAll("'", '"')
const boots = (node: { id: string }) => world.machine(node).disk.state.counters.boots

/** Applies a configuration without Steelyard, as talosctl does. */
async function outside(node: { id: string }, change: (yaml: string) => string): Promise<void> {
  const keys = (await world.backend.domains.clusters.talosCredentials(cluster.id, {
    role: 'os:admin',
    lifetimeMs: 600_000,
  }))!
  const client = await connectSecure({ host: world.machine(node).plan.address }, keys, {
    deadlineMs: 10_000,
  })
  try {
    await client.applyConfiguration(change(configOf(node)), { mode: 'auto' })
  } finally {
    client.close()
  }
}

test('the plan lists workers first, shows the difference and that no server restarts, and changes nothing', async () => {
  const plan = await planOf(configureWith([patchNamed('panic', sysctl('vm.swappiness', '30'))]))
  expect(plan.checks.filter((c) => !c.ok)).toEqual([])
  expect(plan.groups.map((g) => [g.reboots, g.drains])).toEqual(
    Array.from({ length: 5 }, () => ['no', false]),
  )
  expect(plan.groups.slice(0, 2).map((g) => g.node_id)).toEqual([nodes[3]!.id, nodes[4]!.id])
  expect(plan.differences).toHaveLength(5)
  expect(plan.differences[0]!.diff).toMatch(/^@@ .*\n[^]*\+ +vm\.swappiness: "30"\n/)
  expect(await namesOf(nodes[0]!.id)).toEqual([])
})

test('every server gets the patch without a restart, and it becomes a patch of the server', async () => {
  const before = nodes.map(boots)
  const { id } = await world.change(
    cluster.id,
    configureWith([patchNamed('panic', sysctl('vm.swappiness', '30'))]),
  )
  expect(await world.ended(id)).toMatchObject({ status: 'done', reason: null })
  for (const node of nodes) {
    expect(configOf(node)).toContain('vm.swappiness: "30"')
    expect(await namesOf(node.id)).toEqual(['panic'])
    expect((await world.server(node.id)).drift).toBeNull()
  }
  expect(nodes.map(boots)).toEqual(before)
})

test('an API token that may not write servers may not give them patches by a change of their cluster', async () => {
  const made = await admin.call(apiTokenCreate, {
    body: { name: 'clusters', scopes: ['clusters:write'] },
  })
  const headers = { authorization: `Bearer ${made.answer!.token}` }
  const patches = [patchNamed('panic', sysctl('vm.swappiness', '31'))]
  const refused = { code: 'forbidden', error: 'The API token does not include servers:write' }
  for (const change of [
    configureWith(patches),
    {
      kind: 'grow' as const,
      servers: [{ node_id: nodes[0]!.id, role: 'worker' as const, patch: patches[0]! }],
    },
  ]) {
    expect(
      (await world.backend.call(clusterPlan, { params, body: { change } }, { headers })).problem,
    ).toMatchObject(refused)
    expect(
      (await world.backend.call(clusterChange, { params, body: { change } }, { headers })).problem,
    ).toMatchObject(refused)
  }
  expect(
    (
      await world.backend.call(
        clusterPlan,
        { params, body: { change: { kind: 'defragment' } } },
        { headers },
      )
    ).answer,
  ).toBeDefined()
})

test('a server that already has the patch is left out, and a change without effect is refused', async () => {
  const same = configureWith([patchNamed('panic', sysctl('vm.swappiness', '30'))])
  expect((await planOf(same)).checks.find((c) => !c.ok)?.message).toBe(
    'Every chosen server has these patches already',
  )
  expect(
    (await admin.call(clusterChange, { params, body: { change: same } })).problem,
  ).toMatchObject({ code: 'transition_refused' })
})

test('a secret in a patch is neither shown nor stored in the operation', async () => {
  const body =
    'machine:\n  registries:\n    config:\n      registry.example:\n        auth:\n          username: u\n          password: hunter2-secret\n'
  const change = configureWith([patchNamed('registry', body)], { node_ids: [nodes[3]!.id] })
  const plan = await planOf(change)
  expect(plan.differences[0]!.diff).toContain('registry.example')
  expect(JSON.stringify(plan)).not.toContain('hunter2')
  const { id } = await world.change(cluster.id, change)
  const row = await world.backend.platform.db
    .selectFrom('operation')
    .select('arguments')
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  expect(JSON.stringify(row)).not.toContain('hunter2')
  expect(await world.ended(id)).toMatchObject({ status: 'done' })
  expect(configOf(nodes[3]!)).toContain('hunter2-secret')
})

test('only the server that must restart is drained, restarts once, and runs workload again', async () => {
  const worker = nodes[4]!
  const booted = boots(worker)
  await admin.call(patchCreate, { params: { id: worker.id }, body: patchNamed('devices', udev) })
  await world.until(
    () => Promise.resolve(boots(worker)),
    (n) => n === booted + 1,
  )
  await world.until(
    () => world.server(worker.id),
    (s) => s.talos.stage === 'running' && s.kubernetes?.ready === true,
  )
  const before = nodes.map(boots)
  const change = configureWith([patchNamed('panic', sysctl('vm.swappiness', '60'))], {
    remove: ['devices'],
  })
  const plan = await planOf(change)
  expect(plan.groups.filter((g) => g.reboots === 'yes').map((g) => g.node_id)).toEqual([worker.id])
  const { id } = await world.change(cluster.id, change)
  const ended = await world.ended(id)
  expect(ended).toMatchObject({ status: 'done', reason: null })
  expect(ended.steps.filter((s) => s.key.startsWith('drain/')).map((s) => s.node_id)).toEqual([
    worker.id,
  ])
  expect(nodes.map(boots)).toEqual(before.map((n, i) => (nodes[i] === worker ? n + 1 : n)))
  expect(await namesOf(worker.id)).toEqual(['panic'])
})

describe('trouble', () => {
  test.each([
    [{ patches: [] }, 'Name a patch to add, to change or to remove'],
    [{ patches: [patchNamed('a', 'machine: {}\n')], remove: ['a'] }, 'The patch a is named twice'],
    [
      { patches: [patchNamed('a', sysctl('x', '••••••••'))] },
      'The patch a contains •••••••• in place of a secret: enter the secret itself',
    ],
    [{ patches: [patchNamed('a', 'machine:\n  token: x\n')] }, expect.stringContaining('a: ')],
    [
      {
        patches: [patchNamed('a', sysctl('x', '1'))],
        node_ids: ['00000000-0000-4000-8000-000000000000'],
      },
      'A chosen server does not belong to the cluster, or is leaving it',
    ],
  ])('the change %j is refused with a sentence', async (change, message) => {
    const plan = await planOf({ kind: 'configure', ...change })
    expect(plan.checks.find((c) => !c.ok)?.message).toEqual(message)
  })

  test('the change stops at a server with drift, later servers are not changed, and a retry continues once the drift is resolved', async () => {
    const [first, second, third] = [nodes[3]!, nodes[4]!, nodes[0]!]
    const change = configureWith([patchNamed('panic', sysctl('vm.swappiness', '90'))], {
      node_ids: [first.id, second.id, third.id],
    })
    const { id } = await world.change(cluster.id, change)
    await outside(second, (yaml) => yaml.replace('vm.swappiness: "60"', 'vm.swappiness: "61"'))
    expect(await world.ended(id)).toMatchObject({
      status: 'failed',
      reason: expect.stringContaining('was changed outside of Steelyard') as string,
    })
    expect(
      [first, second, third].map((node) => /vm\.swappiness: "(\d+)"/.exec(configOf(node))?.[1]),
    ).toEqual(['90', '61', '60'])
    expect((await planOf(change)).checks.find((c) => !c.ok)?.message).toContain(
      'changed outside of Steelyard',
    )
    await outside(second, (yaml) => yaml.replace('vm.swappiness: "61"', 'vm.swappiness: "60"'))
    await admin.call(operationRetry, { params: { id }, body: {} })
    expect(await world.ended(id)).toMatchObject({ status: 'done' })
    expect(configOf(third)).toContain('vm.swappiness: "90"')
  })

  longTest(
    'a cancelled change finishes the current server and does not change the others',
    async () => {
      const change = configureWith([patchNamed('devices', udev)], {
        node_ids: [nodes[3]!.id, nodes[4]!.id, nodes[0]!.id],
      })
      const held = holdAt(`configure/${nodes[3]!.id}`, 'before')
      const { id } = await world.change(cluster.id, change)
      await held.reached()
      await admin.call(operationCancel, { params: { id } })
      held.release()
      expect(await world.ended(id)).toMatchObject({ status: 'cancelled' })
      expect(configOf(nodes[3]!)).toContain('udev')
      expect(configOf(nodes[0]!)).not.toContain('udev')
      expect(await namesOf(nodes[0]!.id)).not.toContain('devices')
      expect(upgradeWorld(world).cordoned(nodes[0]!)).toEqual([])
      for (const { id: server } of nodes)
        expect((await world.server(server)).operation_id).toBeNull()
      expect((await admin.call(operationRetry, { params: { id }, body: {} })).problem).toBeDefined()
    },
  )
})

describe('a component of a control plane does not come back', () => {
  const looks = looksAt(world, cluster.id)
  const hourMs = 3_600_000
  const [first, second, third] = nodes as [Server, Server, Server]
  const verbose = 'cluster:\n  apiServer:\n    extraArgs:\n      v: "2"\n'
  const hasPatch = (node: Server) => configOf(node).includes('v: "2"')
  const waits = (id: string, node: Server, why: string) =>
    world.until(
      () => world.operation(id),
      ({ steps }) =>
        steps.some(
          (s) =>
            s.key === `control-plane/${node.id}/configure` &&
            s.status === 'waiting' &&
            s.reason?.startsWith(why) === true,
        ),
    )
  const isWell = () =>
    world.until(
      () => planOf(configureWith([patchNamed('any', sysctl('vm.swappiness', '91'))])),
      (plan) => plan.checks.every((c) => c.ok),
    )

  // Case 02: configure went on over a dead API server.
  test('the next control plane is not touched while the API server of the first is dead, and a cancel says why', async () => {
    await isWell()
    await addFault(world.machine(first), { kind: 'pod-crash', image: 'kube-apiserver' })
    const { id } = await world.change(
      cluster.id,
      configureWith([patchNamed('audit', verbose)], { node_ids: [first.id, second.id, third.id] }),
    )
    const why = `kube-apiserver of ${first.name} is not ready: CrashLoopBackOff: back-off 10s restarting failed container=kube-apiserver`
    await waits(id, first, why)
    await waits(id, first, `${why}. Its log ends with: `)
    expect([first, second, third].map(hasPatch)).toEqual([true, false, false])
    await looks.restsFor(hourMs)
    await admin.call(operationCancel, { params: { id } })
    expect(await world.ended(id)).toMatchObject({
      status: 'cancelled',
      reason: expect.stringContaining(why) as string,
    })
    // The cluster is looked at as soon as its change has ended.
    expect(await looks.isDueWithin(hourMs / 2)).toBe(true)
    expect([first, second, third].map(hasPatch)).toEqual([true, false, false])

    // The second one is refused by a plan as well, whatever the change.
    const other = configureWith([patchNamed('audit', verbose)], { node_ids: [second.id] })
    expect((await planOf(other)).checks.filter((c) => !c.ok).map((c) => c.message)).toEqual([
      `${why}. Bring ${first.name} back first. If this change mends it, confirm that with its name`,
    ])
    // So is a patch of the second one alone.
    expect(
      (
        await admin.call(patchCreate, {
          params: { id: second.id },
          body: patchNamed('alone', sysctl('vm.swappiness', '93')),
        })
      ).problem,
    ).toMatchObject({
      code: 'cluster_not_ready',
      error: `${second.name} can be changed when the other control planes are well. ${why}. A change of the patches of the cluster can mend it`,
    })
    await world.until(
      () => world.judged(cluster.id),
      (c) => c.status === 'degraded' && c.reason === why,
    )
    const health = (await admin.call(clusterHealth, { params })).answer!
    expect(health.lines.find((l) => l.topic === 'kubernetes_api')).toMatchObject({
      state: 'problem',
      message: expect.stringContaining('CrashLoopBackOff') as string,
      remedies: [{ change: 'replace', node_id: first.id, name: first.name }],
    })
    await clearFaults(world.machine(first))
    await isWell()
  })

  longTest(
    'of two patches that are saved at once, the second is sent when the first control plane is well',
    async () => {
      const text = 'terminated-pod-gc-threshold: "99"'
      const body = `cluster:\n  controllerManager:\n    extraArgs:\n      ${text}\n`
      const two = [first, second]
      for (const node of two)
        await addFault(world.machine(node), {
          kind: 'component-fails',
          component: 'kube-controller-manager',
          config: text,
        })
      const saved = await Promise.all(
        two.map(({ id }) =>
          admin.call(patchCreate, { params: { id }, body: patchNamed('threshold', body) }),
        ),
      )
      expect(saved.map(({ problem }) => problem)).toEqual([undefined, undefined])
      const has = () => two.filter((node) => configOf(node).includes(text))
      const dead = () =>
        two.filter(
          (node) => world.machine(node).staticPods.get('kube-controller-manager')?.isCrashing,
        )
      await world.until(
        () => Promise.resolve(dead()),
        ({ length }) => length > 0,
      )
      // The reconciler has asked the other control planes again, and found the dead one.
      const waits = has().length === 1 ? two.find((node) => !has().includes(node))! : first
      await world.toNextRun(configuringQueue, waits.id)
      await world.toNextRun(configuringQueue, waits.id)
      expect(has()).toHaveLength(1)
      expect(dead()).toEqual(has())
      const [ill] = dead() as [Server]
      const { pending } = await world.until(
        () => world.server(waits.id),
        (s) => s.pending?.reason.includes('CrashLoopBackOff') === true,
      )
      expect(pending).toMatchObject({
        reason: expect.stringContaining(`kube-controller-manager of ${ill.name}`) as string,
        waits_for: [{ id: ill.id, name: ill.name }],
      })
      for (const node of two) await clearFaults(world.machine(node))
      await world.until(
        () => Promise.resolve(has()),
        ({ length }) => length === 2,
      )
      expect((await world.server(waits.id)).pending).toBeNull()
      await isWell()
    },
  )

  longTest('a change is not done while a component of its last control plane is dead', async () => {
    await addFault(world.machine(third), { kind: 'component-fails', component: 'kube-scheduler' })
    const { id } = await world.change(
      cluster.id,
      configureWith([patchNamed('panic', sysctl('vm.swappiness', '92'))], { node_ids: [third.id] }),
    )
    await waits(id, third, `kube-scheduler of ${third.name} is not ready: CrashLoopBackOff`)
    await clearFaults(world.machine(third))
    expect(await world.ended(id)).toMatchObject({ status: 'done', reason: null })
  })

  longTest(
    'three API servers that a change has killed come back by taking it back, confirmed by their names',
    async () => {
      const three = [first, second, third]
      const body = 'cluster:\n  apiServer:\n    extraArgs:\n      audit-log-maxage: "7"\n'
      const { id } = await world.change(
        cluster.id,
        configureWith([patchNamed('retention', body)], { node_ids: three.map((n) => n.id) }),
      )
      expect(await world.ended(id)).toMatchObject({ status: 'done' })
      for (const node of three)
        await addFault(world.machine(node), {
          kind: 'component-fails',
          component: 'kube-apiserver',
          config: 'audit-log-maxage: "7"',
        })
      await world.until(
        () => Promise.resolve(three.map((node) => world.machine(node).apiServerUp)),
        (up) => up.every((one) => !one),
      )
      const back = { kind: 'configure', take_back: id } as const
      const refused = await planOf(back)
      expect(refused.checks.filter((c) => !c.ok).map((c) => c.check)).toEqual(['control-planes'])
      const mends = three.map((n) => n.name)
      const plan = await planOf({ ...back, mends })
      expect(plan.groups.map((g) => g.name)).toEqual(mends)
      const mending = await world.change(cluster.id, { ...back, mends })
      expect(await world.ended(mending.id)).toMatchObject({ status: 'done', reason: null })
      expect(three.map((node) => world.machine(node).apiServerUp)).toEqual([true, true, true])
      expect(three.map((node) => configOf(node).includes('audit-log-maxage: "7"'))).toEqual([
        false,
        false,
        false,
      ])
      for (const node of three) expect(await namesOf(node.id)).not.toContain('retention')
      for (const node of three) await clearFaults(world.machine(node))
    },
  )

  longTest(
    'a rotation of secrets waits in the same way, and a cancel takes it back, first on the server that is not well',
    async () => {
      await isWell()
      const before = [first, second, third].map(configOf)
      await addFault(world.machine(second), {
        kind: 'component-fails',
        component: 'kube-scheduler',
      })
      const { id } = await world.change(cluster.id, { kind: 'rotate', what: 'aggregator_ca' })
      await world.until(
        () => world.operation(id),
        ({ steps }) =>
          steps.some(
            (s) =>
              s.key === `control-plane/${second.id}/switch` &&
              s.reason?.startsWith(`kube-scheduler of ${second.name} is not ready`) === true,
          ),
      )
      expect([first, second, third].map((node, i) => configOf(node) === before[i])).toEqual([
        false,
        false,
        true,
      ])
      await admin.call(operationCancel, { params: { id } })
      await world.until(
        () => world.operation(id),
        ({ steps }) =>
          steps.some(
            (s) => s.key === `control-plane/${second.id}/withdraw` && s.status === 'waiting',
          ),
      )
      await clearFaults(world.machine(second))
      expect(await world.ended(id)).toMatchObject({ status: 'cancelled' })
      expect([first, second, third].map((node, i) => configOf(node) === before[i])).toEqual([
        true,
        true,
        true,
      ])
    },
  )
})

longTest('a server that falls silent after a change names it in every sentence', async () => {
  const worker = nodes[3]!
  const change = configureWith([patchNamed('panic', sysctl('vm.swappiness', '77'))], {
    node_ids: [worker.id],
  })
  const { id } = await world.change(cluster.id, change)
  expect(await world.ended(id)).toMatchObject({ status: 'done' })
  await world.machine(worker).lifecycle.powerOff()
  const { talos } = await world.until(
    () => world.server(worker.id),
    (s) => s.talos.reachable === false,
  )
  const named = `after a change: Change patches of ${cluster.name}. It can be taken back`
  expect(talos.reason).toContain(named)
  expect(talos.silent_after).toMatchObject({ operation_id: id, take_back: 'patches' })
  const says = (ask: () => Promise<unknown>) =>
    world.until(ask, (answer) => JSON.stringify(answer).includes(named))
  await says(
    async () => (await admin.call(serverRows, { query: { fields: 'list' } })).answer!.items,
  )
  await says(async () => {
    await world.backend.domains.findings.judge()
    return (await admin.call(overviewGet, {})).answer!.attention
  })
  await says(async () => (await admin.call(clusterHealth, { params })).answer!.lines)
  await says(async () => (await world.judged(cluster.id)).reason)
  await says(async () => (await planOf(change)).checks)
  // The others can be taken back meanwhile.
  const back = await planOf({ kind: 'configure', take_back: id })
  expect(back.checks.find((c) => c.check === 'reachable')).toMatchObject({ ok: true })
  expect(back.warnings.join()).toContain(`${worker.name} does not answer and keeps the change`)
})
