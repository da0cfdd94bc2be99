/** The upgrade of Kubernetes on a cluster of three control planes and two workers. */
import { describe, expect, test } from 'vitest'
import { clusterPlan } from '#contract/clusters/changes/changes.ts'
import { operationRetry } from '#contract/operations.ts'
import { handOn } from '#simulator/src/kubernetes/hand.ts'
import { kubernetesOf } from '#simulator/src/kubernetes/joining.ts'
import { addFault, clearFaults } from '#simulator/src/machine/trouble.ts'
import { imagesOf } from '#talos/config/compare.ts'
import { clusterWorld } from '../../testing/world.ts'
import { upgradeWorld } from '../talos-upgrade/testing.ts'

const world = await clusterWorld({ servers: 5, seed: 'upgrade-kubernetes' })
const { admin } = world
const nodes = world.take(5)
const { cluster, operation: creation } = await world.create(nodes, { talos_version: 'v1.13.9', kubernetes_version: '1.35.4' })
await world.ended(creation.id)
const params = { id: cluster.id }

const to = (version: string, more: object = {}) => ({ kind: 'upgradeKubernetes' as const, version, ...more })
const planOf = async (change: ReturnType<typeof to>) => {
  const called = await admin.call(clusterPlan, { params, body: { change } })
  if (!called.answer) throw new Error(called.text)
  return called.answer
}
const imagesAt = (node: { id: string }) => imagesOf(world.machine(node).config!.text)
const boots = (node: { id: string }) => world.machine(node).disk.state.counters.boots
const objects = () =>
  Object.values(kubernetesOf(world.machine(nodes[0]!))!.state.kubernetes.objects).map(({ body }) => body as { kind?: string; metadata?: { name?: string } })

describe('an upgrade that is not allowed', () => {
  test.each([
    ['1.34.9', "The cluster runs Kubernetes 1.35.4: Kubernetes can't go back to 1.34.9, because its objects may be stored in newer forms"],
    ['1.37.0', 'Talos 1.13 runs Kubernetes 1.31 to 1.36, not 1.37.0'],
  ])('to %s is refused with the reason', async (version, message) => {
    expect((await planOf(to(version))).checks.find((c) => !c.ok)?.message).toBe(message)
  })
})

test('an API server that is gone refuses the upgrade with its name', async () => {
  await addFault(world.machine(nodes[1]!), { kind: 'refuse', port: 'kubernetes' })
  expect((await planOf(to('1.36.3'))).checks.find((c) => !c.ok)?.message).toMatch(/^The Kubernetes API does not answer as expected: .*Bring it back first$/)
  await clearFaults(world.machine(nodes[1]!))
})

test('the plan updates the control planes program by program, then the kubelets, and shows the change of kube-proxy', async () => {
  const plan = await planOf(to('1.36.3'))
  expect(plan.checks.filter((c) => !c.ok)).toEqual([])
  const prefixes = plan.groups.map((g) => g.steps.map((s) => s.key.split('/')[0]).join('+'))
  expect([...new Set(prefixes)]).toEqual([
    'images',
    'etcd-healthy+kube-apiserver',
    'kube-controller-manager',
    'kube-scheduler',
    'kube-proxy',
    'kubelet+node-ready',
    'manifests+rollout',
  ])
  expect(plan.groups.every((g) => g.reboots === 'no' && !g.drains)).toBe(true)
  expect(plan.differences.map((d) => d.diff).join('')).toContain('registry.k8s.io/kube-proxy:v1.36.3')
  expect((await planOf(to('1.36.3', { drain: true }))).groups.filter((g) => g.drains)).toHaveLength(5)
})

test('calls of an API that the new version no longer serves refuse the upgrade unless they are accepted; an API that is removed later is a warning', async () => {
  const hand = handOn(world.simulator.world, cluster.name)!
  hand.callDeprecated({ group: 'resource.k8s.io', version: 'v1alpha3', resource: 'resourceclaims', subresource: '', removed_release: '1.36' })
  hand.callDeprecated({ group: '', version: 'v1', resource: 'componentstatuses', subresource: '', removed_release: '1.40' })
  const refused = await planOf(to('1.36.3'))
  expect(refused.checks.filter((c) => !c.ok).map((c) => c.message)).toEqual([
    'Programs of the cluster use APIs that Kubernetes 1.36 no longer serves: resourceclaims of resource.k8s.io/v1alpha3. Update these programs first, or accept that their calls fail',
  ])
  expect(refused.warnings).toContain('Programs use APIs that a later Kubernetes no longer serves: componentstatuses of v1 (until 1.39)')
  const accepted = await planOf(to('1.36.3', { accept_removed_apis: true }))
  expect(accepted.checks.filter((c) => !c.ok)).toEqual([])
  expect(accepted.warnings[0]).toContain('resourceclaims of resource.k8s.io/v1alpha3')
})

test('a missing image stops the upgrade before anything changes, and a retry continues once the image exists', async () => {
  const worker = nodes[4]!
  const before = nodes.map(imagesAt)
  await addFault(world.machine(worker), { kind: 'image-missing', image: 'kubelet:v1.36.3' })
  const { id } = await world.change(cluster.id, to('1.36.3', { accept_removed_apis: true }))
  const failed = await world.ended(id)
  expect(failed).toMatchObject({ status: 'failed', reason: expect.stringContaining(`${worker.name} can't pull ghcr.io/siderolabs/kubelet:v1.36.3`) })
  expect(nodes.map(imagesAt)).toEqual(before)
  await clearFaults(world.machine(worker))
  // The response of one control plane to its new configuration is lost.
  await addFault(world.machine(nodes[1]!), { kind: 'lost-reply', method: 'ApplyConfiguration', times: 1 })
  const started = nodes.map(boots)
  const looking = upgradeWorld(world).lookForDrift(nodes)
  await admin.call(operationRetry, { params: { id }, body: {} })
  expect(await world.ended(id, 120_000)).toMatchObject({ status: 'done', reason: null })
  expect(await looking.stop()).toEqual([])
  expect(nodes.map(boots)).toEqual(started)
}, 180_000)

test('after the upgrade every program runs the new version, and nothing counts as drift', async () => {
  expect((await world.cluster(cluster.id)).kubernetes_version).toBe('1.36.3')
  for (const node of nodes) {
    expect(imagesAt(node).kubelet).toBe('ghcr.io/siderolabs/kubelet:v1.36.3')
    expect(await world.server(node.id)).toMatchObject({ drift: null, operation_id: null })
  }
  for (const node of nodes.slice(0, 3)) {
    const { apiServer, controllerManager, scheduler, proxy } = imagesAt(node)
    expect([apiServer, controllerManager, scheduler, proxy].map((image) => image?.split(':')[1])).toEqual(['v1.36.3', 'v1.36.3', 'v1.36.3', 'v1.36.3'])
  }
  const daemonSet = objects().find((o) => o.kind === 'DaemonSet' && o.metadata?.name === 'kube-proxy')
  expect(JSON.stringify(daemonSet)).toContain('registry.k8s.io/kube-proxy:v1.36.3')
  expect((await world.cluster(cluster.id)).status).toBe('ready')
})
