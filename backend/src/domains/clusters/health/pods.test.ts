import { expect, test } from 'vitest'
import { readPod } from './pods.ts'

const ids = new Map([['falcon-01', '7d3e7a8e-2f5e-4a53-9d6c-0d2b7a1f0c11']])
const metadata = {
  namespace: 'shop',
  name: 'web-6d4cf56db6-x2x7q',
  labels: { 'pod-template-hash': '6d4cf56db6' },
  ownerReferences: [{ kind: 'ReplicaSet', name: 'web-6d4cf56db6', controller: true }],
}
const spec = { nodeName: 'falcon-01', containers: [{ name: 'web' }, { name: 'proxy' }] }
const ready = { type: 'Ready', status: 'True' }
const status = {
  phase: 'Running',
  startTime: '2026-11-20T08:00:00Z',
  conditions: [ready],
  containerStatuses: [{ ready: true }, { ready: true }],
}
const pod = (more: { metadata?: object; spec?: object; status?: object } = {}) => ({
  metadata: { ...metadata, ...more.metadata },
  spec: { ...spec, ...more.spec },
  status: { ...status, ...more.status },
})

test('a running pod has its server, its Deployment, its containers and what a drain does with it', () => {
  expect(readPod(pod(), ids)).toEqual({
    namespace: 'shop',
    name: 'web-6d4cf56db6-x2x7q',
    node: 'falcon-01',
    node_id: ids.get('falcon-01'),
    owner: { kind: 'Deployment', name: 'web' },
    state: 'Running',
    ready: true,
    reason: null,
    containers_ready: 2,
    containers: 2,
    restarts: 0,
    started_at: '2026-11-20T08:00:00.000Z',
    on_drain: 'moved',
  })
})

test('a pod whose container waits or has ended shows the reason of Kubernetes and its restarts', () => {
  const notReady = {
    conditions: [
      { type: 'Ready', status: 'False', message: 'containers with unready status: [web]' },
    ],
  }
  const waiting = {
    reason: 'CrashLoopBackOff',
    message: 'back-off 5m0s restarting failed container=web',
  }
  const crashing = pod({
    status: {
      ...notReady,
      containerStatuses: [{ ready: false, restartCount: 41, state: { waiting } }, { ready: true }],
    },
  })
  expect(readPod(crashing, ids)).toMatchObject({
    state: waiting.reason,
    ready: false,
    reason: waiting.message,
    restarts: 41,
    containers_ready: 1,
  })
  const dead = pod({
    status: {
      ...notReady,
      containerStatuses: [
        { ready: false, restartCount: 2, state: { terminated: { reason: 'OOMKilled' } } },
      ],
    },
  })
  expect(readPod(dead, ids)).toMatchObject({
    state: 'OOMKilled',
    reason: 'containers with unready status: [web]',
  })
  expect(readPod(pod({ status: notReady }), ids)).toMatchObject({
    state: 'Running',
    ready: false,
    reason: 'containers with unready status: [web]',
  })
})

test('an unschedulable, evicted, terminating or finished pod shows its state', () => {
  const unscheduled = {
    phase: 'Pending',
    conditions: [
      {
        type: 'PodScheduled',
        status: 'False',
        message: '0/3 nodes are available: 3 Insufficient memory.',
      },
    ],
  }
  expect(
    readPod(
      pod({
        spec: { nodeName: undefined },
        status: { ...unscheduled, containerStatuses: undefined },
      }),
      ids,
    ),
  ).toMatchObject({
    node: null,
    node_id: null,
    state: 'Pending',
    ready: false,
    reason: '0/3 nodes are available: 3 Insufficient memory.',
    containers: 2,
  })
  const evicted = {
    phase: 'Failed',
    reason: 'Evicted',
    message: 'The node was low on resource: memory.',
    conditions: [],
    containerStatuses: [],
  }
  expect(readPod(pod({ status: evicted }), ids)).toMatchObject({
    state: 'Evicted',
    ready: false,
    reason: evicted.message,
    on_drain: 'ended',
  })
  expect(
    readPod(pod({ metadata: { deletionTimestamp: '2026-11-20T09:00:00Z' } }), ids),
  ).toMatchObject({ state: 'Terminating', ready: false })
  const done = {
    phase: 'Succeeded',
    conditions: [{ type: 'Ready', status: 'False' }],
    containerStatuses: [{ ready: false, state: { terminated: { reason: 'Completed' } } }],
  }
  expect(readPod(pod({ status: done }), ids)).toMatchObject({
    state: 'Succeeded',
    ready: true,
    reason: null,
    on_drain: 'ended',
  })
})

test('a drain leaves pods of DaemonSets and static pods, and loses a pod that nothing creates again', () => {
  const owned = (kind: string) =>
    pod({ metadata: { ownerReferences: [{ kind, name: 'one', controller: true }] } })
  expect(readPod(owned('DaemonSet'), ids)).toMatchObject({
    on_drain: 'stays',
    owner: { kind: 'DaemonSet', name: 'one' },
  })
  expect(
    readPod(
      pod({
        metadata: { annotations: { 'kubernetes.io/config.mirror': 'x' }, ownerReferences: [] },
      }),
      ids,
    )?.on_drain,
  ).toBe('stays')
  expect(readPod(pod({ metadata: { ownerReferences: [] } }), ids)).toMatchObject({
    on_drain: 'lost',
    owner: null,
  })
})

test.each([null, 7, {}, { metadata: {} }, { metadata: { namespace: 'a', name: 7 }, spec: {} }])(
  '%j is no pod',
  (object) => {
    expect(readPod(object, ids)).toBeUndefined()
  },
)

test('invalid values of a pod are left out', () => {
  const odd = {
    metadata: { namespace: 'a', name: 'b\u0007' },
    spec: { containers: 'x' },
    status: { startTime: 'soon', containerStatuses: [{ restartCount: -1 }, 7], phase: 3 },
  }
  expect(readPod(odd, ids)).toMatchObject({
    name: 'b\ufffd',
    started_at: null,
    restarts: 0,
    state: 'Unknown',
    ready: false,
    reason: null,
    containers: 1,
  })
})
