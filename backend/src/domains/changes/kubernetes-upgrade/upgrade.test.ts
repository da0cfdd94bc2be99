/**
 * The upgrade of Kubernetes on a cluster of a control plane and a worker, in the full run of three
 * control planes.
 */
import { describe, expect, test } from 'vitest'
import { clusterPlan } from '#contract/clusters/changes/changes.ts'
import { clusterHealth } from '#contract/clusters/health.ts'
import { operationCancel, operationRetry } from '#contract/operations.ts'
import { serverDrift, serverDriftOverwrite } from '#contract/servers/drift.ts'
import { patchCreate, patchRemove } from '#contract/patches.ts'
import { type Server, serverConfig } from '#contract/servers/servers.ts'
import { handOn } from '#simulator/src/kubernetes/hand.ts'
import { kubernetesOf } from '#simulator/src/kubernetes/joining.ts'
import { addFault, clearFaults } from '#simulator/src/machine/trouble.ts'
import { connectSecure } from '#talos/client/connect.ts'
import { imagesOf } from '#talos/facts/images.ts'
import { longTests } from '../../../../../tools/testing/length.ts'
import { longTest } from '../../../../../tools/testing/long-test.ts'
import { inTransaction } from '../../../db/db.ts'
import { changeQueue, clusterQueue } from '../../clusters/parts.ts'
import { clusterWorld } from '../../clusters/testing/world.ts'
import { upgradeWorld } from '../talos-upgrade/testing.ts'

const world = await clusterWorld({ servers: longTests ? 9 : 2, seed: 'upgrade-kubernetes' })
const { admin } = world
const { db, engine } = world.backend.platform
/** Control planes and a worker whose Kubernetes is a minor older. */
async function runsOld() {
  const nodes = world.take(longTests ? 4 : 2)
  const { cluster, operation } = await world.create(nodes, {
    talos_version: 'v1.13.9',
    kubernetes_version: '1.35.4',
  })
  await world.ended(operation.id)
  return { nodes, cluster }
}
const { nodes, cluster } = await runsOld()
const controlPlanes = nodes.slice(0, -1)
const worker = nodes.at(-1)!
const params = { id: cluster.id }

const to = (version: string, more: object = {}) => ({
  kind: 'upgradeKubernetes' as const,
  version,
  ...more,
})
const planOf = async (change: ReturnType<typeof to>) => {
  const called = await admin.call(clusterPlan, { params, body: { change } })
  if (!called.answer) throw new Error(called.text)
  return called.answer
}
const imagesAt = (node: { id: string }) => imagesOf(world.machine(node).config!.text)
const boots = (node: { id: string }) => world.machine(node).disk.state.counters.boots
const objects = () =>
  Object.values(kubernetesOf(world.machine(nodes[0]!))!.state.kubernetes.objects).map(
    ({ body }) => body as { kind?: string; metadata?: { name?: string } },
  )

describe('an upgrade that is not allowed', () => {
  test.each([
    [
      '1.34.9',
      "The cluster runs Kubernetes 1.35.4: Kubernetes can't go back to 1.34.9, because its objects may be stored in newer forms",
    ],
    ['1.37.0', 'Talos 1.13 runs Kubernetes 1.31 to 1.36, not 1.37.0'],
  ])('to %s is refused with the reason', async (version, message) => {
    expect((await planOf(to(version))).checks.find((c) => !c.ok)?.message).toBe(message)
  })
})

test('an API server that is gone refuses the upgrade with its name', async () => {
  const gone = controlPlanes.at(-1)!
  await addFault(world.machine(gone), { kind: 'refuse', port: 'kubernetes' })
  expect((await planOf(to('1.36.3'))).checks.find((c) => !c.ok)?.message).toMatch(
    /^The Kubernetes API does not answer as expected: .*Bring it back first$/,
  )
  await clearFaults(world.machine(gone))
})

test('a worker whose node is not Ready refuses the upgrade with its name and what to do', async () => {
  world.machine(worker).nodeReady = false
  expect((await planOf(to('1.36.3'))).checks.find((c) => !c.ok)).toMatchObject({
    check: 'nodes',
    message: expect.stringMatching(
      new RegExp(
        `^${worker.name} is not Ready: .*\\. Bring it back first, or remove it from the cluster$`,
      ),
    ) as string,
  })
  world.machine(worker).nodeReady = true
})

test('the plan updates the control planes program by program, then the kubelets, and shows the change of kube-proxy', async () => {
  const plan = await planOf(to('1.36.3'))
  expect(plan.checks.filter((c) => !c.ok)).toEqual([])
  const prefixes = plan.groups.map((g) => g.steps.map((s) => s.key.split('/')[0]).join('+'))
  expect([...new Set(prefixes)]).toEqual([
    'images',
    'etcd-healthy+kube-apiserver+control-plane',
    'kube-controller-manager+control-plane',
    'kube-scheduler+control-plane',
    'kube-proxy+control-plane',
    'kubelet+node-ready+control-plane',
    'kubelet+node-ready',
    'manifests+rollout',
  ])
  expect(plan.groups.every((g) => g.reboots === 'no' && !g.drains)).toBe(true)
  expect(plan.differences.map((d) => d.diff).join('')).toContain(
    'registry.k8s.io/kube-proxy:v1.36.3',
  )
  expect((await planOf(to('1.36.3', { drain: true }))).groups.filter((g) => g.drains)).toHaveLength(
    nodes.length,
  )
})

test('calls of an API that the new version no longer serves refuse the upgrade unless they are accepted; an API that is removed later is a warning', async () => {
  const hand = handOn(world.simulator.world, cluster.name)!
  hand.callDeprecated({
    group: 'resource.k8s.io',
    version: 'v1alpha3',
    resource: 'resourceclaims',
    subresource: '',
    removed_release: '1.36',
  })
  hand.callDeprecated({
    group: '',
    version: 'v1',
    resource: 'componentstatuses',
    subresource: '',
    removed_release: '1.40',
  })
  const refused = await planOf(to('1.36.3'))
  expect(refused.checks.filter((c) => !c.ok).map((c) => c.message)).toEqual([
    'Programs of the cluster use APIs that Kubernetes 1.36 no longer serves: resourceclaims of resource.k8s.io/v1alpha3. Update these programs first, or accept that their calls fail',
  ])
  expect(refused.warnings).toContain(
    'Programs use APIs that a later Kubernetes no longer serves: componentstatuses of v1 (until 1.39)',
  )
  const accepted = await planOf(to('1.36.3', { accept_removed_apis: true }))
  expect(accepted.checks.filter((c) => !c.ok)).toEqual([])
  expect(accepted.warnings[0]).toContain('resourceclaims of resource.k8s.io/v1alpha3')
})

const waits = (id: string, key: string, reason: string) =>
  world.until(
    () => world.operation(id),
    ({ steps }) =>
      steps.some(
        (s) => s.key === key && s.status === 'waiting' && s.reason?.startsWith(reason) === true,
      ),
  )
/**
 * Makes the waiting steps of an operation older. The wall clock stays, because the machines would
 * refuse certificates of a later time.
 */
async function waitLonger(id: string, minutes: number, of = cluster.id): Promise<void> {
  const { clock, platform } = world.backend
  clock.advance(minutes * 60_000)
  clock.jump(-minutes * 60_000)
  await platform.pool.query(
    `update operation_step set started_at = started_at - $2 * interval '1 minute' where operation_id = $1 and status = 'waiting'`,
    [id, minutes],
  )
  await atOnce(changeQueue, of)
}
/** Runs the reconciler of the cluster now instead of after its pause. */
const atOnce = async (queue: string, of = cluster.id): Promise<void> => {
  await inTransaction(db, (tx) => engine.wake(tx, queue, of))
}
const crashes = (node: Pick<Server, 'name'>) =>
  `kube-apiserver of ${node.name} is not ready: CrashLoopBackOff: back-off 10s restarting failed container=kube-apiserver`

longTest(
  'an image that may not be sent is taken back after a cancel and after the time limit',
  { timeout: 600_000 },
  async () => {
    const [first, second] = controlPlanes as [Server, Server]
    const wanted = async () => (await admin.call(serverConfig, { params: { id: first.id } })).text
    const before = await wanted()
    const forbidden = async () => {
      // Otherwise the second pull would not take long.
      world.machine(worker).images.clear()
      await addFault(world.machine(worker), {
        kind: 'slow-pull',
        image: 'kubelet:v1.36.3',
        ms: 3_600_000,
      })
      const { id } = await world.change(cluster.id, to('1.36.3', { accept_removed_apis: true }))
      await addFault(world.machine(second), {
        kind: 'component-fails',
        component: 'kube-scheduler',
        config: 'machine:',
      })
      await world.until(
        async () => world.machine(second).staticPods.get('kube-scheduler')?.isCrashing,
        (is) => is === true,
      )
      await clearFaults(world.machine(worker))
      await waits(id, `kube-apiserver/${first.id}`, `${first.name} is changed as soon as `)
      expect(await wanted()).toContain('kube-apiserver:v1.36.3')
      return id
    }
    const cancelled = await forbidden()
    await admin.call(operationCancel, { params: { id: cancelled } })
    expect(await world.ended(cancelled)).toMatchObject({ status: 'cancelled' })
    expect(await wanted()).toBe(before)
    await clearFaults(world.machine(second))
    await world.until(
      () => planOf(to('1.36.3', { accept_removed_apis: true })),
      ({ checks }) => checks.every((c) => c.ok),
    )
    const late = await forbidden()
    await waitLonger(late, 21)
    expect(await world.ended(late)).toMatchObject({
      status: 'failed',
      reason: expect.stringContaining('Not done after') as string,
    })
    expect(await wanted()).toBe(before)
    await clearFaults(world.machine(second))
    await world.until(
      () => planOf(to('1.36.3', { accept_removed_apis: true })),
      ({ checks }) => checks.every((c) => c.ok),
    )
  },
)

/** The upgrade, which several tests continue. */
let stopped: string

test('a missing image stops the upgrade before anything changes', async () => {
  const before = nodes.map(imagesAt)
  // The tests above may have pulled it.
  world.machine(worker).images.clear()
  await addFault(world.machine(worker), { kind: 'image-missing', image: 'kubelet:v1.36.3' })
  const { id } = await world.change(cluster.id, to('1.36.3', { accept_removed_apis: true }))
  stopped = id
  const failed = await world.ended(id)
  expect(failed).toMatchObject({
    status: 'failed',
    reason: expect.stringContaining(`${worker.name} can't pull ghcr.io/siderolabs/kubelet:v1.36.3`),
  })
  expect(nodes.map(imagesAt)).toEqual(before)
  await clearFaults(world.machine(worker))
})

/** A plan of an older version doesn't say that an API server can't go back to it. */
const expectWayBack = async () =>
  expect((await planOf(to('1.35.9'))).checks.find((c) => c.check === 'path')).toMatchObject({
    ok: true,
  })

test('an upgrade that stops because others have changed a server leaves it its image, also if their change is overwritten', async () => {
  const [first] = controlPlanes as [Server]
  const before = imagesAt(first)
  const theirs = 'sysctls:\n        vm.swappiness: "7"'
  const keys = (await world.backend.domains.clusters.talosCredentials(cluster.id, {
    role: 'os:admin',
    lifetimeMs: 600_000,
  }))!
  const client = await connectSecure({ host: world.machine(first).plan.address }, keys, {
    deadlineMs: 10_000,
  })
  const text = () => world.machine(first).config!.text
  await client.applyConfiguration(text().replace('machine:', `machine:\n    ${theirs}`), {
    mode: 'auto',
  })
  client.close()
  await admin.call(operationRetry, { params: { id: stopped }, body: {} })
  const failed = await world.ended(stopped)
  expect(failed.steps.find((s) => s.status === 'failed')).toMatchObject({
    key: `kube-apiserver/${first.id}`,
    reason: expect.stringContaining('keep or overwrite the changes, then retry') as string,
  })
  await expectWayBack()
  const { seen } = (await admin.call(serverDrift, { params: { id: first.id } })).answer!
  const body = { seen: seen! }
  const overwritten = await admin.call(serverDriftOverwrite, { params: { id: first.id }, body })
  expect(overwritten.problem).toBeUndefined()
  await world.until(
    async () => text(),
    (yaml) => !yaml.includes('vm.swappiness: "7"'),
  )
  expect(imagesAt(first)).toEqual(before)
})

test('an upgrade that stops because a patch sets an image leaves the server its image, also when the patch is removed', async () => {
  const [first] = controlPlanes as [Server]
  const before = imagesAt(first)
  const id = first.id
  const body = { name: 'image', body: `cluster: {apiServer: {image: "${before.apiServer}"}}\n` }
  const made = await admin.call(patchCreate, { params: { id }, body })
  const settled = () =>
    world.until(
      () => world.backend.domains.configurations.kept.state(db, cluster.id, id),
      (newest) => newest!.held_at !== null,
    )
  await settled()
  await admin.call(operationRetry, { params: { id: stopped }, body: {} })
  expect(await world.ended(stopped)).toMatchObject({
    status: 'failed',
    reason: `A patch of ${first.name} sets its image of apiServer: remove that from the patch first`,
  })
  await expectWayBack()
  await admin.call(patchRemove, { params: { id, patchId: made.answer!.patch_id } })
  await settled()
  expect(imagesAt(first)).toEqual(before)
})

const givesUp = (node: Pick<Server, 'name'>) =>
  expect.stringMatching(
    `^${crashes(node)}\\. Its log ends with: .+\\. No other control plane was changed after it\\. Its log on the server says more. Remove the setting that prevents its start from the patches, then retry$`,
  ) as string

test(
  'an upgrade that was stopped goes on when it is retried; no server restarts, and none drifts',
  { timeout: 600_000 },
  async () => {
    const started = nodes.map(boots)
    const looking = upgradeWorld(world).lookForDrift(nodes)
    await admin.call(operationRetry, { params: { id: stopped }, body: {} })
    expect(await world.ended(stopped)).toMatchObject({ status: 'done', reason: null })
    expect(await looking.stop()).toEqual([])
    expect(nodes.map(boots)).toEqual(started)
  },
)

test('after the upgrade every program runs the new version, and nothing counts as drift', async () => {
  expect((await world.cluster(cluster.id)).kubernetes_version).toBe('1.36.3')
  for (const node of nodes) {
    expect(imagesAt(node).kubelet).toBe('ghcr.io/siderolabs/kubelet:v1.36.3')
    expect(await world.server(node.id)).toMatchObject({ drift: null, operation_id: null })
  }
  for (const node of controlPlanes) {
    const { apiServer, controllerManager, scheduler, proxy } = imagesAt(node)
    expect(
      [apiServer, controllerManager, scheduler, proxy].map((image) => image?.split(':')[1]),
    ).toEqual(['v1.36.3', 'v1.36.3', 'v1.36.3', 'v1.36.3'])
  }
  const daemonSet = objects().find(
    (o) => o.kind === 'DaemonSet' && o.metadata?.name === 'kube-proxy',
  )
  expect(JSON.stringify(daemonSet)).toContain('registry.k8s.io/kube-proxy:v1.36.3')
  await world.until(
    () => atOnce(clusterQueue).then(() => world.judged(cluster.id)),
    (c) => c.status === 'ready',
  )
})

longTest(
  'an upgrade stops after 3 minutes of a dead component with the reason, can be retried, and a cancel ends it and says what is left',
  { timeout: 600_000 },
  async () => {
    const { nodes, cluster } = await runsOld()
    const params = { id: cluster.id }
    const [first, hanging, last, ill] = nodes as [Server, Server, Server, Server]
    const started = nodes.map(boots)
    const looking = upgradeWorld(world).lookForDrift(nodes)
    // The response of one control plane to its new configuration is lost.
    await addFault(world.machine(first), {
      kind: 'lost-reply',
      method: 'ApplyConfiguration',
      times: 1,
    })
    await addFault(world.machine(hanging), { kind: 'pod-crash', image: 'kube-apiserver:v1.36.3' })
    const { id: stopped } = await world.change(
      cluster.id,
      to('1.36.3', { accept_removed_apis: true }),
    )
    await waits(stopped, `kube-apiserver/${hanging.id}`, crashes(hanging))
    expect(await looking.stop()).toEqual([])

    await waitLonger(stopped, 4, cluster.id)
    expect(await world.ended(stopped)).toMatchObject({
      status: 'failed',
      reason: givesUp(hanging),
    })
    expect([first, hanging, last].map((n) => imagesAt(n).apiServer?.endsWith('v1.36.3'))).toEqual([
      true,
      true,
      false,
    ])
    const back = await admin.call(clusterPlan, { params, body: { change: to('1.35.9') } })
    expect(back.answer!.checks.find((c) => !c.ok)?.message).toContain(
      "which can't go back to 1.35.9",
    )
    const health = (await admin.call(clusterHealth, { params })).answer!
    expect(health.lines.find((l) => l.topic === 'kubernetes_api')).toMatchObject({
      state: 'problem',
      message: expect.stringContaining(hanging.name) as string,
    })
    expect(health.nodes.every((n) => n.ready)).toBe(true)

    await clearFaults(world.machine(hanging))
    await addFault(world.machine(ill), { kind: 'boots-never-ready' })
    await admin.call(operationRetry, { params: { id: stopped }, body: {} })
    const unready = `${ill.name} is not Ready: KubeletNotReady: container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady`
    await waits(stopped, `node-ready/${ill.id}`, unready)
    await admin.call(operationCancel, { params: { id: stopped } })
    const shown = await world.until(
      () => atOnce(clusterQueue, cluster.id).then(() => world.judged(cluster.id)),
      (c) => c.status === 'degraded',
    )
    expect(shown.reason).toBe(unready)
    // The kubelet may still become Ready. Until then the operation says what it waits for.
    expect(await world.operation(stopped)).toMatchObject({
      status: 'cancelling',
      reason: expect.stringMatching(
        `^Waits until this step is over or can be left: .*${ill.name}.*\\. ${unready}$`,
      ) as string,
    })
    await waitLonger(stopped, 4, cluster.id)
    expect(await world.ended(stopped)).toMatchObject({
      status: 'cancelled',
      reason: expect.stringMatching(
        `^Cancelled after \\d+ of \\d+ steps. .*${ill.name}.*: Cancelled while it waited: ${unready}$`,
      ) as string,
    })
    await clearFaults(world.machine(ill))
    const again = await world.change(cluster.id, to('1.36.3', { accept_removed_apis: true }))
    expect(await world.ended(again.id)).toMatchObject({ status: 'done', reason: null })
    expect(nodes.map(boots)).toEqual(started)
  },
)

longTest(
  'if the only API server is dead, its machine tells the reason, and a cancel does not wait for it',
  { timeout: 600_000 },
  async () => {
    const [lone] = world.take(1) as [Server]
    const created = await world.create([lone], {
      talos_version: 'v1.13.9',
      kubernetes_version: '1.35.4',
    })
    await world.ended(created.operation.id)
    await addFault(world.machine(lone), { kind: 'pod-crash', image: 'kube-apiserver:v1.36.3' })
    const { id } = await world.change(created.cluster.id, to('1.36.3'))
    await waits(id, `kube-apiserver/${lone.id}`, crashes(lone))
    await waitLonger(id, 4, created.cluster.id)
    expect(await world.ended(id)).toMatchObject({ status: 'failed', reason: givesUp(lone) })
    // The component is known to be dead: the clock stands still here.
    await admin.call(operationRetry, { params: { id }, body: {} })
    await waits(id, `kube-apiserver/${lone.id}`, crashes(lone))
    await admin.call(operationCancel, { params: { id } })
    expect(await world.ended(id)).toMatchObject({
      status: 'cancelled',
      reason: expect.stringMatching(
        `^Cancelled after \\d+ of \\d+ steps. .*${lone.name}.*: Cancelled while it waited: ${crashes(lone)}`,
      ) as string,
    })
  },
)
