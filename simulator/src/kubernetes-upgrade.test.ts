import { expect, test, vi } from 'vitest'
import { TAKES } from './machine/durations.ts'
import type { Machine } from './machine/machine.ts'
import { cluster, edit, fleet, openSecure, rack, until } from './testing/fleet.ts'
import { as, watching } from './testing/kubernetes.ts'
import { addFault, clearFaults } from './machine/trouble.ts'
import { resources } from '#talos/client/resources.ts'

const PODS = '/api/v1/namespaces/kube-system/pods'

test('after a restart of the kubelet, the machine and its node become ready again', async () => {
  const simulator = await fleet({ scenario: rack(2) })
  const { bundle, workers } = await cluster(simulator, 1, 1)
  const [worker] = workers
  await (await openSecure(worker!, bundle)).restartService('kubelet')
  expect(worker!.stage.ready).toBe(false)
  await until('the machine is ready', () => worker!.stage.ready && worker!.nodeReady)
  const events = worker!.services.get('kubelet')!.events.map(({ state }) => state)
  expect(events.slice(events.indexOf('Stopping'))).toEqual([
    'Stopping',
    'Finished',
    'Preparing',
    'Starting',
    'Running',
  ])
})

test('a new kubelet image in the configuration restarts the kubelet, and the node reports the new version', async () => {
  const simulator = await fleet({ scenario: rack(2) })
  const { bundle, controlPlanes, workers } = await cluster(simulator, 1, 1)
  const [worker] = workers
  const ask = await as(bundle, controlPlanes[0]!.plan.address)
  const version = async (): Promise<unknown> =>
    (await ask('GET', `/api/v1/nodes/${worker!.hostname}`)).body.status
  expect(await version()).toMatchObject({ nodeInfo: { kubeletVersion: 'v1.36.3' } })
  await edit(worker!, bundle, /kubelet:v1\.36\.3/g, 'kubelet:v1.36.2')
  await until('the new kubelet is ready', () => worker!.stage.ready)
  expect(await version()).toMatchObject({ nodeInfo: { kubeletVersion: 'v1.36.2' } })

  await edit(worker!, bundle, /kubelet:v1\.36\.2/g, 'kubelet:v1.36.99')
  await until('the kubelet has failed', () => worker!.services.get('kubelet')?.state === 'Failed')
  expect(worker!.services.get('kubelet')!.events.at(-1)!.message).toMatch(
    /^Failed to run pre stage: failed to pull image "ghcr\.io\/siderolabs\/kubelet:v1\.36\.99": .*: not found$/,
  )
  expect(worker!.stage.unmet).toContainEqual({ name: 'services', reason: 'kubelet not running' })
  await edit(worker!, bundle, /kubelet:v1\.36\.99/g, 'kubelet:v1.36.3')
  await until('the machine is ready again', () => worker!.stage.ready)
})

test('a kubelet that is newer than the API server does not become ready until the API server is upgraded', async () => {
  const simulator = await fleet({ scenario: rack(1) })
  const { bundle, controlPlanes } = await cluster(simulator, 1, 0)
  const [machine] = controlPlanes
  await edit(machine!, bundle, /:v1\.36\.3/g, ':v1.35.4')
  await until(
    'Kubernetes 1.35 runs',
    () =>
      machine!.stage.ready &&
      machine!.staticPods.get('kube-apiserver')?.image.endsWith('v1.35.4') === true,
  )
  await edit(machine!, bundle, 'kubelet:v1.35.4', 'kubelet:v1.36.3')
  await until('the kubelet is refused', () =>
    machine!.journal
      .logLines('kubelet')!
      .since(0)
      .some((line) =>
        line.includes('kubelet v1.36.3 must not be newer than kube-apiserver v1.35.4'),
      ),
  )
  expect(machine!.nodeReady).toBe(false)
  await edit(machine!, bundle, 'kube-apiserver:v1.35.4', 'kube-apiserver:v1.36.3')
  await until('the node is ready', () => machine!.nodeReady)
})

test('static pods follow the images of the configuration, and a missing image stops them', async () => {
  const simulator = await fleet({ scenario: rack(3) })
  const { bundle, controlPlanes } = await cluster(simulator, 3, 0)
  const [machine, other] = controlPlanes
  const ask = await as(bundle, other!.plan.address)
  const pod = async (): Promise<Record<string, unknown>> =>
    (await ask('GET', `${PODS}/kube-apiserver-${machine!.hostname}`)).body
  const watch = await watching(bundle, other!.plan.address)
  // `talosctl upgrade-k8s` waits for the new pod in this way.
  const seen = watch(`${PODS}?watch=true&labelSelector=k8s-app%3Dkube-apiserver`)
  await until('the pods are listed', () => seen.told.length === 3)
  const own = await as(bundle, machine!.plan.address)
  await edit(machine!, bundle, 'kube-apiserver:v1.36.3', 'kube-apiserver:v1.36.2')
  await until('the API server has stopped', () => !machine!.apiServerUp)
  await until('the new API server runs', () => machine!.apiServerUp)
  expect((await own('GET', '/version')).body).toMatchObject({ gitVersion: 'v1.36.2' })
  expect(await pod()).toMatchObject({
    metadata: { annotations: { 'talos.dev/config-version': '2' } },
    spec: { containers: [{ image: 'registry.k8s.io/kube-apiserver:v1.36.2' }] },
  })

  await until('the watch has the new pod, which is ready', () =>
    seen.told
      .slice(3)
      .some(
        ({ type, object }) =>
          type === 'MODIFIED' &&
          object.metadata.name === `kube-apiserver-${machine!.hostname}` &&
          /apiserver:v1\.36\.2.*"ready":true/.test(JSON.stringify(object)),
      ),
  )
  await addFault(machine!, { kind: 'image-missing', image: 'kube-apiserver:v1.36.1' })
  const client = await openSecure(machine!, bundle)
  await edit(machine!, bundle, 'kube-apiserver:v1.36.2', 'kube-apiserver:v1.36.1')
  await until(
    'the pull fails',
    () => machine!.staticPods.get('kube-apiserver')?.isPullFailing === true,
  )
  expect(await pod()).toMatchObject({
    status: {
      phase: 'Pending',
      containerStatuses: [{ ready: false, state: { waiting: { reason: 'ImagePullBackOff' } } }],
    },
  })
  expect(machine!.stage.unmet).toContainEqual({
    name: 'staticPods',
    reason: `kube-system/kube-apiserver-${machine!.hostname} pending`,
  })
  await clearFaults(machine!)
  await until('the image is there', () => machine!.apiServerUp && machine!.stage.ready)
  await addFault(machine!, { kind: 'pod-crash', image: 'kube-apiserver:v1.36.3' })
  await edit(machine!, bundle, 'kube-apiserver:v1.36.1', 'kube-apiserver:v1.36.3')
  await until(
    'it ends after its start',
    () => machine!.staticPods.get('kube-apiserver')?.isCrashing === true,
  )
  const { items } = await client.list(resources.staticPod)
  expect(items.find(({ id }) => id.includes('apiserver'))!.spec.podStatus).toMatchObject({
    containerStatuses: [{ ready: false, state: { waiting: { reason: 'CrashLoopBackOff' } } }],
  })
  await clearFaults(machine!)
  await until('it runs', () => machine!.apiServerUp && machine!.stage.ready)
  client.close()
})

test('a component with the fault `component-fails` ends at the next configuration, and starts again without the named setting', async () => {
  const simulator = await fleet({ scenario: rack(3) })
  const { bundle, controlPlanes } = await cluster(simulator, 3, 0)
  const [ofPods, ofEtcd, ofKubelet] = controlPlanes as [Machine, Machine, Machine]
  const config = 'kernel.panic: "7"'
  for (const [machine, component] of [
    [ofPods, 'kube-apiserver'],
    [ofPods, 'kube-scheduler'],
    [ofEtcd, 'etcd'],
    [ofKubelet, 'kubelet'],
  ] as const)
    await addFault(machine, { kind: 'component-fails', component, config })
  const set = async (from: string | RegExp, value: string): Promise<void> => {
    for (const machine of controlPlanes) await edit(machine, bundle, from, value)
  }
  expect(controlPlanes.every(({ stage }) => stage.ready)).toBe(true)

  await set(/(?<=^machine:\n)/gm, '    sysctls:\n        kernel.panic: "7"\n')
  const isCrashing = (name: string) => ofPods.staticPods.get(name)?.isCrashing === true
  const service = (machine: Machine, id: string) => machine.services.get(id)
  await until(
    'all four have ended',
    () =>
      isCrashing('kube-apiserver') &&
      isCrashing('kube-scheduler') &&
      service(ofEtcd, 'etcd')?.state === 'Waiting' &&
      service(ofKubelet, 'kubelet')?.state === 'Waiting',
  )
  expect([ofPods.apiServerUp, ofKubelet.nodeReady]).toEqual([false, false])
  expect(ofPods.staticPods.get('kube-controller-manager')!.ready).toBe(true)
  expect(ofEtcd.etcdCluster!.hasQuorum).toBe(true)
  expect(service(ofEtcd, 'etcd')!.events.at(-1)!.message).toBe(
    'Error running Containerd(etcd), going to restart forever: task "etcd" failed: exit code 1',
  )
  const client = await openSecure(ofPods, bundle)
  expect(await client.podLog(`kube-apiserver-${ofPods.hostname}`, 'kube-apiserver', 1)).toEqual([
    '"command failed" err="kube-apiserver is simulated to end after its start"',
  ])

  await set('kernel.panic: "7"', 'kernel.panic: "8"')
  await until('all machines are ready again', () => controlPlanes.every(({ stage }) => stage.ready))
  expect(ofPods.apiServerUp).toBe(true)
})

test('a static pod that starts while etcd is down runs as soon as etcd is back', async () => {
  const simulator = await fleet({ scenario: rack(1) })
  const { bundle, controlPlanes } = await cluster(simulator, 1, 0)
  const [machine] = controlPlanes as [Machine]
  const takes = machine.takes.bind(machine)
  let hasStarted = false
  vi.spyOn(machine, 'takes').mockImplementation(async (ms, signal) => {
    if (ms !== TAKES.apiServer) return takes(ms, signal)
    machine.service('etcd', 'Waiting', 'it starts again')
    await takes(ms, signal)
    hasStarted = true
  })
  await edit(machine, bundle, 'kube-apiserver:v1.36.3', 'kube-apiserver:v1.36.2')
  await until('the new API server has started', () => hasStarted)
  expect(machine.apiServerUp).toBe(false)
  machine.service('etcd', 'Running', 'Health check successful', true)
  await until('it runs', () => machine.apiServerUp)
})
