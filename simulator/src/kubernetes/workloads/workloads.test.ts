import { expect, test } from 'vitest'
import { cluster, fleet, rack, until } from '../../testing/fleet.ts'
import { MAX_SPEED } from '../../clock.ts'
import { handOn } from '../hand.ts'
import { as, type Ask } from '../../testing/kubernetes.ts'

const PODS = '/api/v1/namespaces/default/pods'
const labels = { app: 'web' }
const template = {
  metadata: { labels },
  spec: { containers: [{ name: 'web', image: 'registry.example/web:1' }] },
}
const workload = (kind: string, replicas: number): object => ({
  metadata: { name: 'web' },
  spec: {
    replicas,
    selector: { matchLabels: labels },
    template,
    ...(kind === 'StatefulSet' && { serviceName: 'web' }),
  },
})
const budget = (minAvailable: number | string): object => ({
  metadata: { name: 'web' },
  spec: { minAvailable, selector: { matchLabels: labels } },
})

interface Pod {
  metadata: { name: string; uid: string; deletionTimestamp?: string }
  spec: { nodeName?: string }
  status: { phase: string; conditions?: { type: string; status: string }[] }
}
const podsOf = async (ask: Ask): Promise<Pod[]> =>
  (await ask('GET', `${PODS}?labelSelector=app%3Dweb`)).body.items as Pod[]
const isReady = ({ status }: Pod): boolean =>
  status.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ===
  true
const ready = async (ask: Ask, count: number): Promise<Pod[]> => {
  await until(`${count} pods are ready`, async () => {
    const pods = await podsOf(ask)
    return (
      pods.length === count &&
      pods.every((pod) => isReady(pod) && pod.metadata.deletionTimestamp === undefined)
    )
  })
  return podsOf(ask)
}
const evict = (ask: Ask, name: string, uid?: string) =>
  ask('POST', `${PODS}/${name}/eviction`, {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { name },
    ...(uid !== undefined && { deleteOptions: { preconditions: { uid } } }),
  })

const setup = async (workers: number) => {
  const simulator = await fleet({ scenario: rack(1 + workers) })
  const made = await cluster(simulator, 1, workers)
  return { ...made, simulator, ask: await as(made.bundle, made.controlPlanes[0]!.plan.address) }
}

test('the pods of a Deployment run on ready nodes, and its status counts them', async () => {
  const { ask, workers, controlPlanes } = await setup(2)
  expect(
    (await ask('POST', '/apis/apps/v1/namespaces/default/deployments', workload('Deployment', 4)))
      .status,
  ).toBe(201)
  const pods = await ready(ask, 4)
  expect(new Set(pods.map(({ spec }) => spec.nodeName))).toEqual(
    new Set(workers.map(({ hostname }) => hostname)),
  )
  expect(
    (await ask('GET', '/apis/apps/v1/namespaces/default/deployments/web')).body.status,
  ).toMatchObject({ readyReplicas: 4, availableReplicas: 4 })
  const proxies = (
    await ask('GET', '/api/v1/namespaces/kube-system/pods?labelSelector=k8s-app%3Dkube-proxy')
  ).body.items as Pod[]
  expect(proxies.map(({ spec }) => String(spec.nodeName)).toSorted()).toEqual(
    [...workers, ...controlPlanes].map(({ hostname }) => hostname).toSorted(),
  )
  await ask('DELETE', '/apis/apps/v1/namespaces/default/deployments/web')
  await until('the pods are gone', async () => (await podsOf(ask)).length === 0)
})

test('an evicted pod is replaced on a schedulable node, and the disruption budget refuses the next eviction until the new pod is ready', async () => {
  const { ask, workers } = await setup(2)
  await ask('POST', '/apis/apps/v1/namespaces/default/statefulsets', workload('StatefulSet', 2))
  await ask('POST', '/apis/policy/v1/namespaces/default/poddisruptionbudgets', budget(1))
  const [first, second] = await ready(ask, 2)
  expect([first!.metadata.name, second!.metadata.name]).toEqual(['web-0', 'web-1'])
  const closed = first!.spec.nodeName!
  const schedule = (name: string, unschedulable: boolean) =>
    ask(
      'PATCH',
      `/api/v1/nodes/${name}`,
      { spec: { unschedulable } },
      'application/merge-patch+json',
    )
  // A new pod has no node until one is opened again.
  for (const { hostname } of workers) await schedule(hostname, true)
  expect((await evict(ask, 'web-0', 'another')).status).toBe(409)
  expect((await evict(ask, 'web-0')).status).toBe(201)
  expect(await evict(ask, 'web-1')).toMatchObject({
    status: 429,
    body: {
      reason: 'TooManyRequests',
      message: "Cannot evict pod as it would violate the pod's disruption budget.",
      details: {
        causes: [
          {
            reason: 'DisruptionBudget',
            message: 'The disruption budget web needs 1 healthy pods and has 1 currently',
          },
        ],
      },
    },
  })
  const other = workers.find(({ hostname }) => hostname !== closed)!.hostname
  await schedule(other, false)
  await until('a new pod runs elsewhere', async () => {
    const pod = (await podsOf(ask)).find(({ metadata }) => metadata.name === 'web-0')
    return pod !== undefined && pod.metadata.uid !== first!.metadata.uid && isReady(pod)
  })
  const moved = (await podsOf(ask)).find(({ metadata }) => metadata.name === 'web-0')
  expect(moved!.spec.nodeName).toBe(other)
  expect(
    (await ask('GET', '/apis/policy/v1/namespaces/default/poddisruptionbudgets/web')).body.status,
  ).toMatchObject({
    expectedPods: 2,
    desiredHealthy: 1,
    disruptionsAllowed: expect.any(Number) as number,
  })
})

test('a roll-out ends even when pods are ready faster than the controllers look', async () => {
  const { ask, simulator } = await setup(4)
  const path = '/apis/apps/v1/namespaces/default/daemonsets'
  const set = (image: string): object => ({
    metadata: { name: 'web' },
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { tolerations: [{ operator: 'Exists' }], containers: [{ name: 'web', image }] },
      },
    },
  })
  await ask('POST', path, set('registry.example/web:1'))
  await ready(ask, 5)
  simulator.clock.setSpeed(MAX_SPEED)
  expect((await ask('PUT', `${path}/web`, set('registry.example/web:2'))).status).toBe(200)
  await until('all pods are updated and run', async () => {
    const { body } = await ask('GET', `${path}/web`)
    const { observedGeneration, updatedNumberScheduled, numberAvailable } = body.status as Record<
      string,
      number
    >
    return observedGeneration === 2 && updatedNumberScheduled === 5 && numberAvailable === 5
  })
  expect(await ready(ask, 5)).toMatchObject(
    Array.from({ length: 5 }, () => ({
      spec: { containers: [{ image: 'registry.example/web:2' }] },
    })),
  )
})

test('pods of a node without power stay until they are deleted with force, or until the node is deleted', async () => {
  const { ask, workers } = await setup(2)
  await ask('POST', '/apis/apps/v1/namespaces/default/statefulsets', workload('StatefulSet', 2))
  const [first] = await ready(ask, 2)
  const lost = workers.find(({ hostname }) => hostname === first!.spec.nodeName)!
  await lost.lifecycle.powerOff()
  await until(
    'the pod is unready',
    async () =>
      !isReady((await podsOf(ask)).find(({ metadata }) => metadata.name === first!.metadata.name)!),
  )
  await ask('DELETE', `${PODS}/${first!.metadata.name}`)
  expect(
    (await podsOf(ask)).find(({ metadata }) => metadata.name === first!.metadata.name)!.metadata
      .deletionTimestamp,
  ).toBeDefined()
  await ask('DELETE', `/api/v1/nodes/${lost.hostname}`)
  const pods = await ready(ask, 2)
  expect(pods.map(({ spec }) => spec.nodeName)).not.toContain(lost.hostname)
})

test('pods run again after their node has rebooted', async () => {
  const { ask, workers } = await setup(1)
  await ask('POST', PODS, { metadata: { name: 'web', labels }, spec: template.spec })
  const [pod] = await ready(ask, 1)
  const { bootId } = workers[0]!
  workers[0]!.lifecycle.request({ kind: 'reboot' })
  await until('the pod is unready', async () => !isReady((await podsOf(ask))[0]!))
  await until(
    'the node has rebooted',
    () => workers[0]!.bootId !== bootId && workers[0]!.stage.ready,
  )
  expect((await ready(ask, 1))[0]!.metadata.uid).toBe(pod!.metadata.uid)
})

test('a counting workload keeps its identity and its data, and reboots of its nodes without a drain count as breaches of its budget', async () => {
  const { simulator, workers, controlPlanes } = await setup(2)
  const hand = handOn(simulator.world, 'blue-fox')!
  const identity = hand.addWorkload({ name: 'counter', replicas: 2, minAvailable: 2 })
  const counter = () => hand.show().workloads[0]!
  await until('it counts', () => counter().ready === 2 && counter().serial >= 2)
  const { serial } = counter()
  expect(hand.show().counters).toMatchObject({ budgetBreaches: 0, quorumLosses: 0, mostUnready: 0 })
  const { bootId } = workers[0]!
  workers[0]!.lifecycle.request({ kind: 'reboot' })
  await until('the worker is back', () => workers[0]!.bootId !== bootId && workers[0]!.stage.ready)
  await until('it counts on', () => counter().ready === 2 && counter().serial > serial)
  expect(counter()).toMatchObject({ identity, isIntact: true })
  expect(hand.show().counters).toMatchObject({ budgetBreaches: 1, quorumLosses: 0, mostUnready: 1 })
  await controlPlanes[0]!.lifecycle.powerOff()
  expect(hand.show().counters.quorumLosses).toBe(1)
})
