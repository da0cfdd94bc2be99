/** The frame of changes, tested with the simplest kind: the defragmentation of etcd. */
import { describe, expect, test } from 'vitest'
import { clusterChange, clusterPlan, clusterWindowSet } from '#contract/clusters/changes/changes.ts'
import { clusterFilesHold, clusterFilesRelease } from '#contract/clusters/files.ts'
import { clusterHealth } from '#contract/clusters/health.ts'
import {
  hasEnded,
  type Operation,
  operationCancel,
  operationGet,
  operationRetry,
} from '#contract/operations.ts'
import { type Server, serverCommands } from '#contract/servers/servers.ts'
import { handOn } from '#simulator/src/kubernetes/hand.ts'
import { addFault, clearFaults } from '#simulator/src/machine/trouble.ts'
import { longTest } from '../../../../tools/testing/long-test.ts'
import { begins, inAnHour } from '../clusters/testing/scheduled.ts'
import { clusterWorld } from '../clusters/testing/world.ts'
import { changeQueue } from '../clusters/parts.ts'
import { upgradeWorld } from './talos-upgrade/testing.ts'

const world = await clusterWorld({ servers: 4 })
const { admin } = world

const four = world.take(4)
const { cluster, operation: creation } = await world.create(four)
const body = { change: { kind: 'defragment' as const } }
const params = { id: cluster.id }

test('a cluster that is still being created refuses a change', async () => {
  const called = await admin.call(clusterChange, { params, body })
  expect(called.problem).toMatchObject({ code: 'cluster_not_ready' })
  await world.ended(creation.id)
})

test('the plan names every control plane with the leader last, and changes nothing', async () => {
  const plan = (await admin.call(clusterPlan, { params, body })).answer!
  expect(plan.checks.every((c) => c.ok)).toBe(true)
  expect(plan.groups.map((g) => g.steps[0]!.key.split('/')[0])).toEqual([
    'defragment',
    'defragment',
    'defragment',
    'disarm',
    'etcd-healthy',
  ])
  expect(plan.took_s).toBeNull()
  expect((await world.cluster(cluster.id)).operation_id).toBe(creation.id)
})

test('a change runs to its end, and the next plan says how long it took', async () => {
  const { id } = await world.change(cluster.id, body.change)
  const ended = await world.ended(id)
  expect(ended).toMatchObject({ status: 'done', kind: 'clusterDefragment' })
  expect(ended.steps.every((s) => s.status === 'done')).toBe(true)
  expect((await world.cluster(cluster.id)).operation_id).toBe(id)
  expect((await admin.call(clusterPlan, { params, body })).answer!.took_s).toBeGreaterThan(0)
})

test('a server refuses commands while its cluster is changed, and accepts them afterwards', async () => {
  const reboot = () => admin.call(serverCommands.serverReboot, { params: { id: four[3]!.id } })
  const { id } = await world.change(cluster.id, body.change)
  expect((await reboot()).problem).toMatchObject({ code: 'operation_running' })
  await world.ended(id)
  expect((await world.server(four[3]!.id)).operation_id).toBeNull()
  expect((await admin.call(clusterChange, { params, body })).answer).toBeDefined()
  await world.until(
    () => world.cluster(cluster.id).then((c) => world.operation(c.operation_id!)),
    (o) => o.status === 'done',
  )
})

test('a change is refused while an operation runs on a server, and the refusal names the server', async () => {
  const { answer } = await admin.call(serverCommands.serverRestartKubelet, {
    params: { id: four[3]!.id },
  })
  expect((await admin.call(clusterChange, { params, body })).problem).toMatchObject({
    code: 'operation_running',
    error: `An operation on ${four[3]!.name} has not ended`,
  })
  await world.ended(answer!.operation.id)
})

test('a snapshot without any store is refused, and says who adds one', async () => {
  const called = await admin.call(clusterChange, { params, body: { change: { kind: 'snapshot' } } })
  expect(called.problem).toMatchObject({
    code: 'transition_refused',
    error: expect.stringMatching(/^There is no store yet: an admin can add one/) as string,
  })
})

test('a change with an outdated digest of its plan is refused', async () => {
  const called = await admin.call(clusterChange, {
    params,
    body: { ...body, seen: '0'.repeat(64) },
  })
  expect(called.problem).toMatchObject({ code: 'stale' })
})

test('a step of a worker that waits long says as well which component of a control plane is dead', async () => {
  const [, , third, worker] = four as [Server, Server, Server, Server]
  await addFault(world.machine(worker), { kind: 'component-fails', component: 'kubelet' })
  // The kubelet ends before the change, so that no step finds the node still Ready.
  world.machine(worker).restartKubelet?.()
  await expect.poll(() => world.machine(worker).nodeReady).toBe(false)
  const body = 'machine:\n  sysctls:\n    vm.swappiness: "1"\n'
  const { id } = await world.change(cluster.id, {
    kind: 'configure',
    patches: [{ name: 'swap', weight: 500, labels: {}, body }],
    node_ids: [worker.id],
  })
  const waits = (why: string) =>
    world.until(
      async () =>
        (await world.operation(id)).steps.find((s) => s.key === `node-ready/${worker.id}`)!,
      ({ status, reason }) => status === 'waiting' && new RegExp(why).test(reason ?? ''),
    )
  const own = `^The kubelet of ${worker.name} does not run: `
  await waits(own)
  await addFault(world.machine(third), {
    kind: 'component-fails',
    component: 'kube-scheduler',
    config: 'machine:',
  })
  world.backend.clock.advance(25_000)
  await waits(`${own}.+\\. kube-scheduler of ${third.name} is not ready: .+Its log ends with: `)
  for (const one of [third, worker]) await clearFaults(world.machine(one))
  expect(await world.ended(id)).toMatchObject({ status: 'done', reason: null })
})

describe('a scheduled change', () => {
  test('is refused for a time that has passed', async () => {
    const start = { at: '2020-01-01T02:00:00Z' }
    const { problem } = await admin.call(clusterChange, { params, body: { ...body, start } })
    expect(problem).toMatchObject({
      code: 'invalid',
      fields: { 'start.at': expect.stringContaining('has passed') as string },
    })
  })

  test('waits for its time, can be cancelled, and does not block another change', async () => {
    const { operation } = (
      await admin.call(clusterChange, { params, body: { ...body, start: inAnHour() } })
    ).answer!
    const waiting = await world.until(
      () => world.operation(operation.id),
      (o) => o.reason !== null,
    )
    expect(waiting).toMatchObject({
      status: 'pending',
      reason: expect.stringContaining('Begins at'),
    })
    expect(await world.ended((await world.change(cluster.id, body.change)).id)).toMatchObject({
      status: 'done',
    })
    await admin.call(operationCancel, { params: { id: operation.id } })
    expect(await world.ended(operation.id)).toMatchObject({
      status: 'cancelled',
      reason: 'Nothing was changed',
    })
  })

  test('that a newer version of Steelyard cannot read ends when it is due, and says so', async () => {
    const { operation } = (
      await admin.call(clusterChange, {
        params,
        body: { ...body, start: inAnHour() },
      })
    ).answer!
    const unread = JSON.stringify({ change: { kind: 'of another version' }, confirmed_disks: [] })
    await world.backend.platform.pool.query('update operation set arguments = $2 where id = $1', [
      operation.id,
      unread,
    ])
    await begins(world, cluster.id, operation.id)
    expect(await world.ended(operation.id)).toMatchObject({
      status: 'failed',
      reason: expect.stringMatching(/^It did not begin: .*cannot read it/) as string,
    })
  })

  test('does not begin if files hold the cluster by then, and says so', async () => {
    const { operation } = (
      await admin.call(clusterChange, { params, body: { ...body, start: inAnHour() } })
    ).answer!
    await admin.call(clusterFilesHold, { params, body: { set: 'rack-12' } })
    await begins(world, cluster.id, operation.id)
    expect(await world.ended(operation.id)).toMatchObject({
      status: 'failed',
      reason: expect.stringMatching(
        /^It did not begin: Only the files of the set rack-12 change /,
      ) as string,
    })
    expect((await admin.call(clusterFilesRelease, { params })).status).toBe(200)
  })

  test('is refused if it waits for a maintenance window and the cluster has none', async () => {
    const called = await admin.call(clusterChange, {
      params,
      body: { ...body, start: { in_window: true } },
    })
    expect(called.problem).toMatchObject({
      code: 'transition_refused',
      error: expect.stringContaining('has no maintenance window') as string,
    })
  })

  test('waits if the maintenance window is removed, and begins when it is changed so that it is open', async () => {
    const at = (hours: number) => new Date(Date.now() + hours * 3_600_000)
    const windowFrom = (hours: number) => ({
      days: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as ('mon' | 'tue')[],
      from: at(hours).toISOString().slice(11, 16),
      minutes: 180,
      time_zone: 'UTC',
    })
    await admin.call(clusterWindowSet, { params, body: { window: windowFrom(8) } })
    const { operation } = (
      await admin.call(clusterChange, { params, body: { ...body, start: { in_window: true } } })
    ).answer!
    await world.until(
      () => world.operation(operation.id),
      (o) => o.reason?.startsWith('Waits for the maintenance window') === true,
    )
    await admin.call(clusterWindowSet, { params, body: { window: null } })
    const { started_at } = await world.until(
      () => world.operation(operation.id),
      (o) => o.reason?.includes('has no maintenance window any more') === true,
    )
    expect(started_at).toBeNull()
    await admin.call(clusterWindowSet, { params, body: { window: windowFrom(-1) } })
    expect(await world.ended(operation.id)).toMatchObject({ status: 'done' })
  })
})

describe('etcd in trouble', () => {
  const failedOf = async (change: Parameters<typeof world.change>[1], name: string) => {
    const { checks } = (await admin.call(clusterPlan, { params, body: { change } })).answer!
    return checks.find((c) => c.check === name && !c.ok)
  }
  const messageOf = async (...asked: Parameters<typeof failedOf>) =>
    (await failedOf(...asked))?.message

  test('an alarm about different data is never cleared by a defragmentation, says how to come back, and ends a scheduled change before it begins', async () => {
    const { operation: scheduled } = (
      await admin.call(clusterChange, { params, body: { ...body, start: inAnHour() } })
    ).answer!
    await addFault(world.machine(four[1]!), { kind: 'etcd-alarm', alarm: 'corrupt' })
    expect(await messageOf(body.change, 'data')).toMatch(
      new RegExp(`^${four[1]!.name}: .*alarm CORRUPT.*: restore the cluster from a snapshot$`),
    )
    expect((await admin.call(clusterChange, { params, body })).problem).toMatchObject({
      code: 'transition_refused',
    })
    await begins(world, params.id, scheduled.id)
    const never = await world.ended(scheduled.id)
    expect(never).toMatchObject({
      status: 'failed',
      reason: expect.stringMatching(/^It did not begin: .*alarm CORRUPT/),
    })
    expect(never.steps.every((s) => s.status === 'skipped')).toBe(true)
    world.machine(four[1]!).etcdCluster!.disarm()
  })

  test('etcd without space refuses changes that move workload; one that stays full after the defragmentation says what is left to do', async () => {
    await addFault(world.machine(four[1]!), { kind: 'etcd-alarm', alarm: 'nospace' })
    const full = `etcd on ${four[1]!.name}`
    for (const change of [
      { kind: 'shrink' as const, servers: [{ node_id: four[3]!.id }] },
      { kind: 'rotate' as const, what: 'tokens' as const },
    ])
      expect(await messageOf(change, change.kind === 'rotate' ? 'etcd' : 'alarms')).toMatch(
        /alarm NOSPACE\): defragment etcd$/,
      )
    const etcd = world.machine(four[1]!).etcdCluster!
    const { member } = etcd.state.alarms![0]!
    // A database that its objects fill raises the alarm again.
    Object.assign(etcd, { disarm: () => etcd.raise(member, 'nospace') ?? [] })
    const { id } = await world.change(cluster.id, body.change)
    expect(await world.ended(id)).toMatchObject({
      status: 'failed',
      reason: expect.stringMatching(new RegExp(`${full} is still full.*quota-backend-bytes`)),
    })
    Reflect.deleteProperty(etcd, 'disarm')
    etcd.disarm()
    await admin.call(operationRetry, { params: { id }, body: {} })
    expect(await world.ended(id)).toMatchObject({ status: 'done' })
  })

  test('a dead member that no server has refuses restarts that would end the majority, and says how it is removed', async () => {
    const etcd = world.machine(four[1]!).etcdCluster!
    const ghost = { ...etcd.state.members[0]!, id: 'ff', name: 'ghost', address: '10.99.99.99' }
    etcd.change((state) => state.members.push(ghost))
    const rotate = { kind: 'rotate' as const, what: 'tokens' as const }
    expect(await messageOf(rotate, 'etcd')).toMatch(
      /^etcd has the member ghost, .* Remove it first: talosctl etcd remove-member ff$/,
    )
    const { lines } = (await admin.call(clusterHealth, { params })).answer!
    expect(lines.find((l) => l.topic === 'etcd')).toMatchObject({
      message: expect.stringContaining('remove it: talosctl etcd remove-member ff') as string,
      remedies: [],
    })
    // The node of this name is Ready, and its server has told another member.
    const { name } = four[0]!
    etcd.change(() => void Object.assign(ghost, { name }))
    expect(await messageOf(rotate, 'etcd')).toContain(`etcd has the member ${name} (ff), `)
    etcd.change(() => void Object.assign(ghost, { name: 'ghost' }))
    // As if Steelyard had upgraded the server.
    const node_id = four[1]!.id
    const { pool } = world.backend.platform
    await pool.query(
      `insert into talos_upgrade (operation_id, node_id, image, version, schematic, version_before,
        schematic_before, sent_at, created_at)
       values ($1, $2, '', 'v1.13.8', '', 'v1.13.8', '', now(), now())`,
      [creation.id, node_id],
    )
    expect(await messageOf({ kind: 'rollbackTalos', node_id }, 'etcd')).toMatch(
      /^etcd has the member ghost, /,
    )
    await pool.query('delete from talos_upgrade where operation_id = $1', [creation.id])
    const { reboots } = world.machine(four[1]!).disk.state.counters
    const reboot = (await admin.call(serverCommands.serverReboot, { params: { id: node_id } }))
      .answer!.operation.id
    await world.until(
      () => world.operation(reboot),
      (o) => o.steps[0]!.reason?.startsWith('etcd has the member ghost, ') === true,
    )
    await admin.call(operationCancel, { params: { id: reboot } })
    expect(await world.ended(reboot)).toMatchObject({ status: 'cancelled' })
    expect(world.machine(four[1]!).disk.state.counters.reboots).toBe(reboots)
    etcd.change((state) => void state.members.splice(state.members.indexOf(ghost), 1))
    expect(await failedOf(rotate, 'etcd')).toBeUndefined()
  })

  test('no member is defragmented while another one is gone', async () => {
    await world.machine(four[1]!).lifecycle.powerOff()
    expect(await failedOf(body.change, 'etcd')).toMatchObject({
      message: expect.stringMatching(
        new RegExp(`^${four[1]!.name}: .*\\. Bring ${four[1]!.name} back, or replace it$`),
      ) as string,
      remedies: [{ change: 'replace', node_id: four[1]!.id }],
    })
    world.machine(four[1]!).lifecycle.powerOn()
  })

  longTest(
    'etcd without space and with a dead member says what to do; the member is removed by force, then etcd is defragmented',
    { timeout: 600_000 },
    async () => {
      const [dead, alarmed] = [four[1]!, four[2]!]
      await world.until(
        () => failedOf(body.change, 'etcd'),
        (failed) => failed === undefined,
      )
      // The alarm of the dead member stops the writes of the others too.
      await addFault(world.machine(dead), { kind: 'etcd-alarm', alarm: 'nospace' })
      await world.machine(dead).lifecycle.powerOff()
      await world.until(
        () => world.server(dead.id),
        (s) => s.talos.reachable === false,
      )
      const todo = `bring ${dead.name} back, or remove it by force, then defragment etcd`
      const removal = { change: 'shrink', node_id: dead.id, name: dead.name }
      const leaving = { kind: 'shrink' as const, servers: [{ node_id: four[3]!.id }] }
      expect(await failedOf(leaving, 'alarms')).toMatchObject({
        message: expect.stringMatching(new RegExp(`alarm NOSPACE\\): ${todo}$`)) as string,
        remedies: [removal],
      })
      await addFault(world.machine(alarmed), { kind: 'etcd-alarm', alarm: 'nospace' })
      expect(await failedOf(body.change, 'etcd')).toMatchObject({
        message: expect.stringMatching(new RegExp(`\\. B${todo.slice(1)}$`)) as string,
        remedies: [removal],
      })
      const { lines } = (await admin.call(clusterHealth, { params })).answer!
      expect(lines.find((l) => l.topic === 'database')).toMatchObject({
        message: expect.stringContaining(todo) as string,
        remedies: [removal],
      })
      expect(lines.find((l) => l.topic === 'etcd')!.remedies).toMatchObject([removal])
      const { id } = await world.change(cluster.id, {
        kind: 'shrink',
        servers: [{ node_id: dead.id, force: true }],
      })
      expect(await world.ended(id)).toMatchObject({ status: 'done' })
      expect(await world.ended((await world.change(cluster.id, body.change)).id)).toMatchObject({
        status: 'done',
      })
      expect(world.machine(alarmed).etcdCluster!.state.alarms).toEqual([])
    },
  )
})

test('a change that cannot be read waits, and continues after a day without Steelyard; its time limit begins anew, the pods that stay are its reason, and scheduled changes follow', async () => {
  const worker = four[3]!
  await world.until(
    async () =>
      (await admin.call(clusterPlan, { params, body })).answer!.checks.filter((c) => !c.ok),
    (failed) => failed.length === 0,
  )
  handOn(world.simulator.world, cluster.name)!.addWorkload({
    name: 'shop',
    replicas: 1,
    minAvailable: 1,
  })
  const change = { kind: 'shrink' as const, servers: [{ node_id: worker.id }] }
  // The pod is scheduled after a moment.
  await world.until(
    async () =>
      (await admin.call(clusterPlan, { params, body: { change } })).answer!.warnings.join(),
    (text) => text.includes('shop never allows one of its 1 pod to be moved'),
  )
  const { id } = await world.change(cluster.id, change)
  const schedule = async () =>
    (
      await admin.call(clusterChange, {
        params,
        body: { ...body, start: { at: new Date().toISOString() } },
      })
    ).answer!.operation.id
  const cancelled = await schedule()
  const defragment = await schedule()
  const wait = (operation: string, is: (o: Operation) => boolean, call = admin) =>
    world.until(
      async () => (await call.call(operationGet, { params: { id: operation } })).answer!,
      is,
    )
  const kept = `shop-0 can't be moved: `
  await wait(id, (o) =>
    o.steps.some((s) => s.key === `drain/${worker.id}` && s.reason?.includes(kept) === true),
  )
  const busy = `Waits until this operation has ended: Remove servers from ${cluster.name}`
  await wait(defragment, (o) => o.status === 'pending' && o.reason === busy)
  // A scheduled change is cancelled although another one runs.
  await admin.call(operationCancel, { params: { id: cancelled } })
  expect(await world.ended(cancelled)).toMatchObject({
    status: 'cancelled',
    reason: 'Nothing was changed',
  })

  // An update of Steelyard may know the arguments in another form.
  const { pool } = world.backend.platform
  const { rows } = await pool.query('select arguments from operation where id = $1', [id])
  const keep = (stored: unknown) =>
    pool.query('update operation set arguments = $2 where id = $1', [id, JSON.stringify(stored)])
  await keep({ change: { kind: 'of another version' }, confirmed_disks: [] })
  await wait(id, (o) =>
    [o, ...o.steps].some(
      (told) =>
        told.reason?.startsWith('This version of Steelyard cannot read the change') === true,
    ),
  )
  await keep(rows[0].arguments)

  await world.halt()
  await pool.query(
    `update operation set starts_at = starts_at - interval '1 day', started_at = started_at - interval '1 day', created_at = created_at - interval '1 day'`,
  )
  await pool.query(
    `update operation_step set started_at = started_at - interval '1 day' where status = 'waiting'`,
  )
  await pool.query(
    `update wake_up set due_at = due_at - interval '1 day', owner = null where queue like 'cluster%'`,
  )
  const fence = async () =>
    Number(
      (
        await pool.query(`select fence from wake_up where queue = $1 and key = $2`, [
          changeQueue,
          cluster.id,
        ])
      ).rows[0].fence,
    )
  const before = await fence()
  const after = await world.beside()
  await world.until(fence, (now) => now > before + 1)
  expect((await after.admin.call(operationGet, { params: { id } })).answer).toMatchObject({
    status: 'running',
  })

  const { clock } = after.backend
  clock.advance(21 * 60_000)
  clock.jump(-21 * 60_000)
  const failed = await wait(id, hasEnded, after.admin)
  expect(failed).toMatchObject({
    status: 'failed',
    reason: expect.stringMatching(
      new RegExp(
        `^Not done after 21 min. .*${kept}.*Let these pods be moved, or end them yourself, then retry$`,
      ),
    ),
  })
  expect(handOn(world.simulator.world, cluster.name)!.show().workloads).toMatchObject([
    { isIntact: true, ready: 1 },
  ])
  expect(upgradeWorld(world).cordoned(four[0]!)).toEqual([])
  expect(await wait(defragment, hasEnded, after.admin)).toMatchObject({ status: 'done' })
})
