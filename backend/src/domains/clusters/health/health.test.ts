import { expect, test } from 'vitest'
import { clusterPlan } from '#contract/clusters/changes/changes.ts'
import { clusterHealth, type ClusterHealth, etcdRole } from '#contract/clusters/health.ts'
import { clusterPods } from '#contract/clusters/pods.ts'
import { findingList } from '#contract/findings/findings.ts'
import { patchCreate, patchPreview } from '#contract/patches.ts'
import { serverAdd } from '#contract/servers/servers.ts'
import { addFault, clearFaults } from '#simulator/src/machine/trouble.ts'
import { inTransaction } from '../../../db/db.ts'
import { system } from '../../../http/caller.ts'
import { nextRunAt } from '../../../testing/engine.ts'
import { configuringQueue } from '../../configurations/api.ts'
import { healthQueue } from '../parts.ts'
import { clusterWorld } from '../testing/world.ts'
import { apartMs } from './observed.ts'

const world = await clusterWorld({ servers: 4 })
const { admin } = world
const viewer = await world.backend.signIn({ role: 'viewer', lasts: true })
const nodes = world.take(4)
const { cluster, operation } = await world.create(nodes)
const ask = async (): Promise<ClusterHealth> =>
  (await viewer.call(clusterHealth, { params: { id: cluster.id } })).answer!
const stateOf = (health: ClusterHealth, topic: string) =>
  health.lines.find((l) => l.topic === topic)
/** Observes the cluster now, and waits until that is done. */
const observed = async () => {
  const { db, engine } = world.backend.platform
  await inTransaction(db, (tx) => engine.wake(tx, healthQueue, cluster.id))
  await world.until(
    () => nextRunAt(db, healthQueue, cluster.id),
    (due) => due !== null && due.getTime() > world.backend.clock.now(),
  )
}

test('the health of a cluster without a control plane is unknown, with the reason', async () => {
  const health = await ask()
  expect(stateOf(health, 'etcd')).toMatchObject({ state: 'unknown' })
  expect(health.nodes.every((n) => n.ready === null && n.reason !== null)).toBe(true)
  const { problem } = await viewer.call(clusterPods, { params: { id: cluster.id } })
  expect(problem).toMatchObject({ code: 'cluster_not_ready' })
})

test(
  'a ready cluster reports members, leader, sizes, nodes, pods and versions',
  { timeout: 600_000 },
  async () => {
    expect((await world.ended(operation.id)).status).toBe('done')
    const health = await ask()
    // The versions may be out of support by now, and no schedule takes snapshots.
    expect(
      health.lines.filter(
        (l) => l.state !== 'ok' && !['talos', 'kubernetes', 'snapshot'].includes(l.topic),
      ),
    ).toEqual([])
    expect(health.etcd.members.map((m) => m.name).toSorted()).toEqual(
      nodes
        .slice(0, 3)
        .map((n) => n.name)
        .toSorted(),
    )
    expect(health.etcd.members.filter((m) => m.leader === true)).toHaveLength(1)
    for (const member of health.etcd.members)
      expect(member).toMatchObject({
        learner: false,
        healthy: true,
        alarms: [],
        reason: null,
        version: '3.6.12',
        size_bytes: expect.any(Number) as number,
      })
    expect(health.kubernetes_api).toHaveLength(3)
    expect(health.nodes).toHaveLength(4)
    for (const node of health.nodes)
      expect(node).toMatchObject({
        ready: true,
        schedulable: true,
        kubelet_version: '1.36.3',
        talos_version: 'v1.13.9',
      })
    expect(health.nodes.find((n) => n.role === 'control_plane')!.pods).toBeGreaterThan(0)
    expect(health.versions.talos).toMatchObject({ current: 'v1.13.9', next: 'v1.14.1' })
  },
)

test('the pods of a cluster are listed, of one server or by search', async () => {
  const pods = async (query: { node_id?: string; q?: string }) =>
    (await viewer.call(clusterPods, { params: { id: cluster.id }, query })).answer!
  const all = await pods({})
  expect(all.total).toBe(all.items.length)
  expect(all.items.find((p) => p.name === `kube-apiserver-${nodes[0]!.name}`)).toMatchObject({
    namespace: 'kube-system',
    node_id: nodes[0]!.id,
    state: 'Running',
    ready: true,
    on_drain: 'stays',
  })
  const some = await pods({ node_id: nodes[0]!.id, q: 'KUBE-SYSTEM/kube-sch' })
  expect(some.items.map((p) => p.name)).toEqual([`kube-scheduler-${nodes[0]!.name}`])
  expect(await pods({ q: 'nothing' })).toEqual({ items: [], total: 0, not_ready: 0 })
  const { problem } = await viewer.call(clusterPods, {
    params: { id: cluster.id },
    query: { node_id: cluster.id },
  })
  expect(problem).toMatchObject({ code: 'not_found' })
})

test(
  'a control plane that does not answer is reported with the reason',
  { timeout: 600_000 },
  async () => {
    const [, lost] = nodes
    await addFault(world.machine(lost!), { kind: 'hang', port: 'apid' })
    const health = await ask()
    await clearFaults(world.machine(lost!))
    const member = health.etcd.members.find((m) => m.node_id === lost!.id)!
    expect(member).toMatchObject({
      healthy: null,
      size_bytes: null,
      reason: expect.stringContaining('did not answer') as string,
    })
    expect(stateOf(health, 'etcd')).toMatchObject({
      state: 'problem',
      message: expect.stringContaining(`2 of 3 members are healthy. ${lost!.name}`) as string,
    })
    expect(health.etcd.members.filter((m) => m.healthy === true)).toHaveLength(2)
  },
)

test(
  'case 03: a twin of a control plane in maintenance changes nothing at the member, and waits for a user',
  { timeout: 600_000 },
  async () => {
    const [member] = nodes
    const { uuid, serial } = world.machine(member!).disk.identity
    const kernel_command_line = 'talos.platform=metal'
    const [twin] = await world.simulator.boot({ kernel_command_line, uuid, serial })
    const [liar] = await world.simulator.boot({ kernel_command_line, uuid, serial: 'OTHER1' })
    await world.until(
      () => Promise.resolve([twin!.stage.stage, liar!.stage.stage]),
      (stages) => stages.every((stage) => stage === 'maintenance'),
    )
    const { answer } = await admin.call(serverAdd, {
      body: { addresses: [twin!.plan.address, liar!.plan.address] },
    })
    const { steps } = await world.ended(answer!.operation.id)
    for (const step of steps)
      expect(step.reason).toContain(`A second machine has the UUID of ${member!.name}`)
    const health = await world.until(ask, (h) => stateOf(h, 'etcd')!.state === 'ok')
    expect(stateOf(health, 'etcd')).toMatchObject({ state: 'ok', remedies: [] })
    expect((await world.server(member!.id)).identity).toMatchObject({
      state: 'confirmed',
      seen: null,
    })
    const plan = () =>
      admin.call(clusterPlan, {
        params: { id: cluster.id },
        body: { change: { kind: 'defragment' } },
      })
    const { answer: planned } = await world.until(plan, ({ answer: one }) => one !== undefined)
    expect(planned!.checks.filter((c) => !c.ok)).toEqual([])
  },
)

test('etcd without space is full, but keeps its quorum', { timeout: 600_000 }, async () => {
  await addFault(world.machine(nodes[2]!), { kind: 'etcd-alarm', alarm: 'nospace' })
  const health = await world.until(ask, (h) => stateOf(h, 'database')!.state === 'problem')
  await clearFaults(world.machine(nodes[2]!))
  expect(stateOf(health, 'database')!.message).toBe(
    `etcd is full and refuses writes (alarm NOSPACE of ${nodes[2]!.name}). A defragmentation frees unused space and clears the alarm.`,
  )
  expect(stateOf(health, 'etcd')).toMatchObject({ state: 'ok' })
})

test(
  'a full etcd and an API server that stops are found by watching the machines, and end when they are mended',
  { timeout: 600_000 },
  async () => {
    const [, stopped, full] = nodes
    const found = async () => {
      await observed()
      await world.backend.domains.findings.judge()
      const { items } = (
        await viewer.call(findingList, { query: { cluster: cluster.id, severity: 'degraded' } })
      ).answer!
      return items.map((f) => `${f.kind}: ${f.reason}`)
    }
    await addFault(world.machine(full!), { kind: 'etcd-alarm', alarm: 'nospace' })
    await addFault(world.machine(stopped!), { kind: 'refuse', port: 'kubernetes' })
    await found()
    world.backend.clock.advance(apartMs)
    const two = await world.until(found, ({ length }) => length === 2)
    expect(two).toEqual([
      expect.stringContaining(
        `cluster_etcd_full: etcd is full and refuses writes (alarm NOSPACE of ${full!.name})`,
      ),
      expect.stringContaining(
        `cluster_api_server_down: The API server of ${stopped!.name} is not ready`,
      ),
    ])
    await clearFaults(world.machine(stopped!))
    // What the finding offers as its remedy clears the alarm.
    const { id } = await world.change(cluster.id, { kind: 'defragment' })
    expect((await world.ended(id)).status).toBe('done')
    await world.until(found, ({ length }) => length === 0)
  },
)

test('a patch for which a control plane restarts is refused beside a dead member, and one that is saved waits', async () => {
  const { etcdCluster, disk } = world.machine(nodes[1]!)
  const etcd = etcdCluster!
  const ghost = { ...etcd.state.members[0]!, id: 'ff', name: 'ghost', address: '10.99.99.99' }
  etcd.change((state) => state.members.push(ghost))
  const { id, name } = nodes[1]!
  const body = 'machine:\n  udev:\n    rules: [SUBSYSTEM=="drm"]\n'
  const why = new RegExp(`^${name} restarts to apply it\\. etcd has the member ghost, `)
  const { verdict, warnings } = (
    await admin.call(patchPreview, { params: { id }, body: { name: 'devices', body } })
  ).answer!
  expect(verdict.kind).toBe('reboot')
  expect(warnings.map(({ message }) => message)).toContainEqual(expect.stringMatching(why))
  const saved = await admin.call(patchCreate, { params: { id }, body: { name: 'devices', body } })
  expect(saved.problem).toMatchObject({
    code: 'cluster_not_ready',
    error: expect.stringMatching(why) as string,
  })
  // As if the member had died after the patch was saved.
  const { applies, reboots } = disk.state.counters
  const { domains, platform } = world.backend
  await inTransaction(platform.db, async (tx) => {
    const patch = { name: 'devices', weight: 500, labels: {}, body }
    await domains.patches.createIn(tx, system, id, patch)
    await domains.configurations.renderAgain(tx, cluster.id, id)
    await platform.engine.wake(tx, configuringQueue, id)
  })
  const { pending } = await world.until(
    () => world.server(id),
    (server) => server.pending !== null,
  )
  expect(pending).toMatchObject({
    reason: expect.stringMatching(/^etcd has the member ghost, /) as string,
    waits_for: [],
  })
  expect(disk.state.counters).toMatchObject({ applies, reboots })
  etcd.change((state) => void state.members.splice(state.members.indexOf(ghost), 1))
  await world.until(
    () => world.server(id),
    ({ pending: waits }) => waits === null && disk.state.counters.reboots > reboots,
  )
  await world.until(ask, (health) => stateOf(health, 'etcd')?.state === 'ok')
})

test(
  'a lost quorum is a problem that names the members that are down',
  { timeout: 600_000 },
  async () => {
    for (const node of nodes.slice(1, 3)) await world.machine(node).lifecycle.powerOff()
    const health = await world.until(ask, (h) => h.etcd.reason !== null)
    expect(stateOf(health, 'etcd')).toMatchObject({
      state: 'problem',
      message: expect.stringMatching(
        /^etcd has no leader, so the cluster accepts no change\. /,
      ) as string,
    })
    for (const node of nodes.slice(1, 3))
      expect(stateOf(health, 'etcd')!.message).toContain(node.name)
    expect(stateOf(health, 'etcd')!.message).toMatch(/\. Bring them back\.$/)
    expect(health.etcd.members.map((m) => etcdRole(health.etcd.reason, m))).toEqual([
      'unknown',
      'unknown',
      'unknown',
    ])
    const removal = { kind: 'shrink' as const, servers: [{ node_id: nodes[1]!.id, force: true }] }
    const failed = await world.until(
      async () =>
        (
          await admin.call(clusterPlan, { params: { id: cluster.id }, body: { change: removal } })
        ).answer!.checks.filter((c) => !c.ok),
      (checks) => checks.some((c) => c.check === 'kubernetes'),
    )
    expect(failed).toContainEqual({
      check: 'quorum',
      ok: false,
      for_now: true,
      message: expect.stringMatching(
        /so none can be removed: bring control planes back until etcd has a leader, or restore the cluster/,
      ) as string,
      remedies: [{ change: 'restore', node_id: null, name: null }],
    })
    const [down = '', gone = ''] = nodes.slice(1, 3).map((n) => n.name)
    const { checks } = (
      await admin.call(clusterPlan, {
        params: { id: cluster.id },
        body: { change: { kind: 'defragment' } },
      })
    ).answer!
    expect(checks.find((c) => !c.ok)!.message).toMatch(
      new RegExp(
        `${nodes[0]!.name}: etcd has no leader.*\\. Bring (${down} and ${gone}|${gone} and ${down}) back, or restore the cluster from a snapshot$`,
      ),
    )
    expect(failed).toContainEqual(
      expect.objectContaining({
        check: 'alarms',
        message: 'No control plane reports whether etcd has an alarm',
      }),
    )
    expect(health.kubernetes_api.filter((a) => !a.ready).length).toBeGreaterThanOrEqual(2)
  },
)
