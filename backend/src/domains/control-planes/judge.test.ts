import { describe, expect, test } from 'vitest'
import {
  type ControlPlaneState,
  illnessesIn,
  type PodVersions,
  sentenceOf,
  settled,
  type Sighting,
  staticPodNames,
  whyOthersForbid,
} from './judge.ts'
import { settingsOf } from './read.ts'

const running = { state: 'Running', healthy: true, message: null }
const ready = { conditions: [{ type: 'Ready', status: 'True' }] }
const crashing = {
  conditions: [{ type: 'Ready', status: 'False' }],
  containerStatuses: [
    { state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 10s restarting' } } },
  ],
}
const mirror = (status: object, version = '3') => ({
  metadata: {
    annotations: {
      'talos.dev/config-version': version,
      'talos.dev/secrets-version': '5',
      'talos.dev/config-file-version': '111',
    },
  },
  status,
})
const wanted: PodVersions = { settings: '3', secrets: '5', files: '111' }
const pod = (status: object = ready, version = '3') => ({
  isDisabled: false,
  wanted,
  mirror: mirror(status, version),
  there: status,
})
const well: Sighting = {
  name: 'cp-1',
  silent: null,
  stage: 'running',
  services: { etcd: running, kubelet: running },
  etcd: { leaderId: '1', learner: false, appliedIndex: '9000', errors: [] },
  etcdFailed: null,
  pods: {
    'kube-apiserver': pod(),
    'kube-controller-manager': pod(),
    'kube-scheduler': pod(),
  },
  changedAtMs: 1_000,
  kubernetesFailed: null,
  unready: null,
  node: { ready: true, reason: null },
  reportedAtMs: 2_000,
}
const restarting = (id: string) => ({
  state: 'Waiting',
  healthy: undefined,
  message: `Error running Containerd(${id}), going to restart forever: task "${id}" failed: exit code 1`,
})
const services = (more: Sighting['services']) => ({ services: { ...well.services, ...more } })
const etcd = (more: object) => ({ etcd: { ...well.etcd!, ...more } })

test('a control plane on which everything runs is well', () => {
  expect(illnessesIn(well, [well])).toEqual([])
})

test.each([
  ['settings', 'its new configuration'],
  ['secrets', 'its new secrets'],
  ['files', 'its new configuration files'],
] as const)(
  'a pod that runs with old %s is not done, and an unknown version stops nothing',
  (what, said) => {
    const seen = (versions: PodVersions): Sighting => ({
      ...well,
      pods: { ...well.pods, 'kube-scheduler': { ...pod(), wanted: versions } },
    })
    const next = seen({ ...wanted, [what]: '1112' })
    expect(illnessesIn(next, [next])).toEqual([
      {
        component: 'kube-scheduler',
        why: `kube-scheduler of cp-1 does not run with ${said} yet`,
        isDead: false,
        isSettling: true,
      },
    ])
    const unknown = seen({ ...wanted, [what]: null })
    expect(illnessesIn(unknown, [unknown])).toEqual([])
  },
)

test('the settings whose version a pod has are those with the arguments, if Talos has them', () => {
  const [own, other] = [{ id: 'kube-scheduler' }, { id: 'kube-apiserver' }]
  const final = { id: 'final-kube-scheduler' }
  expect(settingsOf('kube-scheduler', [own, other])).toBe(own)
  expect(settingsOf('kube-scheduler', [final, own, other])).toBe(final)
  expect(settingsOf('kube-controller-manager', [own, other])).toBeUndefined()
})

test.each([
  ['rebooting', 'rebooting'],
  ['shutting_down', 'shutting down'],
  ['resetting', 'resetting'],
  ['upgrading', 'upgrading'],
])('a machine that is %s is not well, although its components still run', (stage, said) => {
  const going = { ...well, stage }
  expect(illnessesIn(going, [going])).toEqual([
    { component: 'machine', why: `cp-1 is ${said}`, isDead: false },
  ])
})

test('a dead component is said before those that wait for it', () => {
  const of = (component: 'kubelet' | (typeof staticPodNames)[number], isDead: boolean) => ({
    component,
    why: `${component} is not ready`,
    isDead,
  })
  const illnesses = [...staticPodNames.map((pod) => of(pod, false)), of('kubelet', true)]
  expect(sentenceOf(illnesses)).toBe(
    'kubelet is not ready. kube-apiserver is not ready. kube-controller-manager is not ready',
  )
})

/** Each component in each state in which it does not work: the sentence, and whether it is dead. */
const cases: readonly [string, Partial<Sighting>, string, 'dead' | 'settling' | ''][] = [
  ...staticPodNames.flatMap(
    (name): [string, Partial<Sighting>, string, 'dead' | 'settling' | ''][] => {
      const of = (one: ReturnType<typeof pod>) => ({ pods: { ...well.pods, [name]: one } })
      return [
        [
          `${name} ends after each start`,
          of(pod(crashing)),
          `${name} of cp-1 is not ready: CrashLoopBackOff: back-off 10s restarting`,
          'dead',
        ],
        [
          `${name} still runs with its former configuration`,
          of(pod(ready, '2')),
          `${name} of cp-1 does not run with its new configuration yet`,
          'settling',
        ],
        [
          `${name} has no pod`,
          of({ ...pod(), mirror: null as never }),
          `${name} of cp-1 does not run`,
          '',
        ],
        [
          `${name} ends after each start, and no API server answers`,
          {
            ...of(pod(crashing)),
            kubernetesFailed: 'connection refused',
            unready: 'connection refused',
          },
          `${name} of cp-1 is not ready: CrashLoopBackOff: back-off 10s restarting${name === 'kube-apiserver' ? '' : '. The API server of cp-1 is not ready: connection refused'}`,
          'dead',
        ],
      ]
    },
  ),
  [
    'the API server does not answer',
    { unready: 'connection refused' },
    'The API server of cp-1 is not ready: connection refused',
    '',
  ],
  [
    'no API server answers',
    { kubernetesFailed: 'cp-1: connection refused', unready: 'connection refused' },
    'The API server of cp-1 is not ready: cp-1: connection refused',
    '',
  ],
  [
    'etcd ends after each start',
    services({ etcd: restarting('etcd') }),
    'etcd of cp-1 does not run: Error running Containerd(etcd), going to restart forever: task "etcd" failed: exit code 1',
    'dead',
  ],
  [
    'etcd is not healthy',
    services({ etcd: { ...running, healthy: false, message: 'context deadline exceeded' } }),
    'etcd of cp-1 is not healthy: context deadline exceeded',
    '',
  ],
  [
    'etcd does not answer',
    { etcd: null, etcdFailed: 'timeout' },
    'etcd of cp-1 does not answer: timeout',
    '',
  ],
  ['etcd has no leader', etcd({ leaderId: null }), 'etcd of cp-1 has no leader', ''],
  [
    'etcd has an alarm',
    etcd({ errors: ['alarm:NOSPACE'] }),
    'etcd of cp-1 reports alarm:NOSPACE',
    '',
  ],
  [
    'etcd is a learner',
    etcd({ learner: true }),
    'etcd of cp-1 is a learner, which still copies the data of the other members',
    '',
  ],
  [
    'etcd is far behind',
    etcd({ appliedIndex: '10' }),
    'etcd of cp-1 is 8990 entries behind the other members',
    '',
  ],
  [
    'the kubelet ends after each start',
    services({ kubelet: restarting('kubelet') }),
    'The kubelet of cp-1 does not run: Error running Containerd(kubelet), going to restart forever: task "kubelet" failed: exit code 1',
    'dead',
  ],
  [
    'the kubelet has failed',
    services({ kubelet: { state: 'Failed', healthy: undefined, message: 'Failed to pull' } }),
    'The kubelet of cp-1 does not run: Failed to pull',
    'dead',
  ],
  [
    'the node is not Ready',
    { node: { ready: false, reason: 'KubeletNotReady: no network' } },
    'cp-1 is not Ready: KubeletNotReady: no network',
    '',
  ],
  ['there is no node', { node: null }, 'Kubernetes has no node cp-1', ''],
  [
    'the kubelet has not reported after the change',
    { reportedAtMs: 999 },
    'The kubelet of cp-1 has not reported since its last change',
    'settling',
  ],
  ['the machine is silent', { silent: 'timed out' }, 'cp-1 does not answer: timed out', ''],
]

const states = (illnesses: ControlPlaneState['illnesses']): ControlPlaneState[] => [
  { node_id: '1', name: 'cp-1', illnesses },
  { node_id: '2', name: 'cp-2', illnesses: [] },
  { node_id: '3', name: 'cp-3', illnesses: [] },
]

describe.each(cases)('%s', (_, differs, why, how) => {
  const all = [
    { ...well, ...differs },
    { ...well, name: 'cp-2' },
    { ...well, name: 'cp-3' },
  ]
  const found = illnessesIn(all[0]!, all)

  test('it is told in one sentence that names the server', () => {
    expect(found.map((one) => one.why).join('. ')).toBe(why)
    expect(found[0]).toMatchObject({ isDead: how === 'dead' })
    expect(settled(states(found))[0]!.illnesses).toHaveLength(how === 'settling' ? 0 : found.length)
  })

  test('no second control plane may be changed, and the server itself may', () => {
    for (const other of ['2', '3'])
      expect(whyOthersForbid(other, states(found), new Set())).toBe(why)
    expect(whyOthersForbid('1', states(found), new Set())).toBeNull()
  })
})

test('a component that the configuration disables is not missed', () => {
  const pods = {
    ...well.pods,
    'kube-scheduler': { ...pod(), isDisabled: true, mirror: null as never, there: undefined },
  }
  expect(illnessesIn({ ...well, pods }, [well])).toEqual([])
})

describe('a change that mends', () => {
  const ill = (component: 'kube-apiserver' | 'etcd') => [
    { component, why: `${component} is not ready`, isDead: true },
  ]
  const three = (...which: ('kube-apiserver' | 'etcd' | null)[]): ControlPlaneState[] =>
    which.map((component, i) => ({
      node_id: String(i + 1),
      name: `cp-${i + 1}`,
      illnesses: component === null ? [] : ill(component),
    }))
  const forbids = (all: ControlPlaneState[], ...mends: string[]) =>
    whyOthersForbid('1', all, new Set(mends))

  test('it is not stopped by the dead API servers that it names', () => {
    const all = three('kube-apiserver', 'kube-apiserver', 'kube-apiserver')
    expect(forbids(all, 'cp-1', 'cp-2', 'cp-3')).toBeNull()
    expect(forbids(all, 'cp-1', 'cp-2')).toBe('kube-apiserver is not ready')
    expect(forbids(all)).not.toBeNull()
  })

  test('it keeps the quorum of etcd', () => {
    expect(forbids(three('etcd', null, null), 'cp-1')).toBeNull()
    expect(forbids(three(null, 'etcd', null), 'cp-2')).toBe('etcd is not ready')
    expect(forbids(three(null, 'etcd', 'etcd', null, null), 'cp-2', 'cp-3')).toBe(
      'etcd is not ready. etcd is not ready',
    )
    expect(forbids(three(null, 'etcd', null, null, null), 'cp-2')).toBeNull()
    // The quorum is lost already, and the change is to bring it back.
    expect(forbids(three('etcd', 'etcd', null), 'cp-1', 'cp-2')).toBeNull()
  })
})
