/** Decisions of the gate between control planes, without machines. */
import { describe, expect, test } from 'vitest'
import type { ControlPlaneState, Illness } from '../../control-planes/judge.ts'
import { namesLeaving } from '../../control-planes/touching.ts'
import { keyOf, type PlannedGroup, prefixOf } from '../frame.ts'
import { changeKinds } from '../kinds.ts'
import { departingGroup, silentGroup } from '../members/departing.ts'
import { takeBack } from './advice.ts'
import { gated, gateStep, judgeControlPlanes, othersStep, outcomeOf } from './gate.ts'

const members = [
  { node_id: 'a', role: 'control_plane' },
  { node_id: 'b', role: 'control_plane' },
  { node_id: 'c', role: 'control_plane' },
  { node_id: 'w', role: 'worker' },
] as const
const group = (nodeId: string | null, ...prefixes: string[]): PlannedGroup => ({
  node_id: nodeId,
  name: nodeId === null ? null : `server-${nodeId}`,
  steps: prefixes.map((prefix) => ({
    key: nodeId === null ? prefix : keyOf(prefix, nodeId),
    title: prefix,
  })),
})
const keys = (groups: readonly PlannedGroup[]) => groups.map((g) => g.steps.map((s) => s.key))

/** Kinds that change components of control planes, and each step with which they do. */
const touching = Object.entries(changeKinds).flatMap(([kind, { touches = [] }]) =>
  touches.map((prefix) => [kind, prefix] as const),
)

test('the kinds that change control planes are known', () => {
  expect([...new Set(touching.map(([kind]) => kind))].toSorted()).toEqual([
    'configure',
    'disks',
    'documents',
    'endpoint',
    'extensions',
    'grow',
    'replace',
    'role',
    'rollbackTalos',
    'rotate',
    'upgradeKubernetes',
    'upgradeTalos',
  ])
  for (const [kind, prefix] of touching)
    expect(Object.keys(changeKinds[kind as keyof typeof changeKinds].steps)).toContain(prefix)
})

describe.each(touching)('%s, step %s', (kind, prefix) => {
  test('no control plane follows another one without a wait, and the last one is waited for', () => {
    const plain = members.map((m) => group(m.node_id, prefix))
    const steps = gated(changeKinds[kind as keyof typeof changeKinds], members, plain).flatMap(
      (g) => g.steps.map((s) => s.key),
    )
    expect(steps).toEqual([
      ...['a', 'b', 'c'].flatMap((id) => [keyOf(prefix, id), `${gateStep}/${id}/${prefix}`]),
      keyOf(prefix, 'w'),
    ])
    expect(new Set(steps.map(prefixOf))).toEqual(new Set([prefix, gateStep]))
  })
})

test('the wait comes before the server runs workload again, and groups of the whole cluster have none', () => {
  const groups = gated({ touches: ['configure'] }, members, [
    group(null, 'image'),
    group('a', 'drain', 'configure', 'uncordon'),
    group('b', 'drain', 'uncordon'),
  ])
  expect(keys(groups)).toEqual([
    ['image'],
    ['drain/a', 'configure/a', 'control-plane/a/configure', 'uncordon/a'],
    ['drain/b', 'uncordon/b'],
  ])
})

describe.each(Object.keys(changeKinds) as (keyof typeof changeKinds)[])(
  'a component that does not come back ends %s',
  (kind) => {
    test.each([
      'kube-apiserver',
      'kube-controller-manager',
      'kube-scheduler',
      'etcd',
      'kubelet',
    ] as const)('%s', (component) => {
      const dead = [{ component, why: `${component} of cp-1 is not ready: reason`, isDead: true }]
      const words = '. Its log ends with: unknown flag'
      const after = (waited: number, illnesses: readonly Illness[] = dead) =>
        outcomeOf(illnesses, { kind, waited, words, isSafe: true })
      const why = `${component} of cp-1 is not ready: reason. Its log ends with: unknown flag`
      expect(after(180_000)).toEqual({ waiting: why, againMs: 1_000, isSafe: true })
      expect(after(180_001)).toEqual({
        failed: `${why}. No other control plane was changed after it. ${takeBack(kind)}`,
      })
      expect(after(19 * 60_000, [{ ...dead[0]!, isDead: false }])).toMatchObject({ waiting: why })
      expect(after(0, [])).toBe('done')
    })
  },
)

test('a change that can be taken back says how', () => {
  for (const kind of ['configure', 'endpoint', 'extensions', 'grow', 'replace', 'rotate'] as const)
    expect(takeBack(kind)).toMatch(/ back|Remove the new server/)
})

describe('control planes that join and leave', () => {
  const [first] = members
  const server = {
    ...first,
    name: 'server-a',
    install_disk: '/dev/sda',
    workload_disks: [] as string[],
  }

  test('a server is waited for if it becomes a control plane, also one that was a worker', () => {
    const added = { ...group('n', 'config', 'etcd', 'join'), becomes: 'control_plane' as const }
    const worker = { ...group('m', 'config', 'join'), becomes: 'worker' as const }
    const promoted = {
      ...group('w', 'drain', 'reset', 'forget-node', 'uncordon', 'config', 'join'),
      becomes: 'control_plane' as const,
    }
    expect(keys(gated(changeKinds.role, members, [added, worker, promoted]))).toEqual([
      ['config/n', 'etcd/n', 'join/n', 'control-plane/n/join'],
      ['config/m', 'join/m'],
      [
        'drain/w',
        'reset/w',
        'forget-node/w',
        'uncordon/w',
        'config/w',
        'join/w',
        'control-plane/w/join',
      ],
    ])
  })

  test('after a control plane has left, the others are waited for; a worker and a silent server change nothing on them', () => {
    const prefixes = (steps: PlannedGroup['steps']) => steps.map(({ key }) => prefixOf(key))
    const leaver = (role: 'control_plane' | 'worker') =>
      ({ ...server, role }) as Parameters<typeof departingGroup>[0]
    const steps = prefixes(departingGroup(leaver('control_plane'), false).steps)
    expect(steps.slice(-3)).toEqual(['forget-node', othersStep, 'uncordon'])
    expect(prefixes(departingGroup(leaver('worker'), false).steps)).not.toContain(othersStep)
    expect(prefixes(silentGroup(leaver('control_plane'), false).steps)).not.toContain(othersStep)
    for (const kind of ['shrink', 'replace', 'role'] as const)
      expect(Object.keys(changeKinds[kind].steps)).toContain(othersStep)
  })

  test('what ails a server that the change takes out does not stop it until the server is wiped', () => {
    const steps = ['reset/a', 'reset/b', 'join/c'].map((key, i) => ({
      key,
      node_id: ['a', 'b', 'c'][i]!,
      status: i === 0 ? ('done' as const) : ('todo' as const),
    }))
    const named = members.map((m) => ({ ...m, name: `server-${m.node_id}` }))
    const leaving = namesLeaving({ steps }, named)
    expect([...leaving]).toEqual(['server-b'])
  })
})

describe('the check of a plan', () => {
  const ill = (component: Illness['component'], name: string): Illness[] => [
    { component, why: `${component} of ${name} is not ready`, isDead: true },
  ]
  const states = (...components: (Illness['component'] | null)[]): ControlPlaneState[] =>
    components.map((component, i) => {
      const name = `cp-${i + 1}`
      return {
        node_id: String(i + 1),
        name,
        illnesses: component === null ? [] : ill(component, name),
      }
    })
  const all = ['1', '2', '3']
  const says = (of: ControlPlaneState[], changed: string[], mends: string[] = []) => {
    const { ok, message } = judgeControlPlanes(of, changed, mends)
    return `${ok}: ${message}`
  }

  test.each([
    'kube-apiserver',
    'kube-controller-manager',
    'kube-scheduler',
    'etcd',
    'kubelet',
    'machine',
  ] as const)(
    'it refuses a change while %s of a control plane is not well, and names the server',
    (component) => {
      const of = states(null, component, null)
      for (const changed of [all, ['1'], ['2']])
        expect(says(of, changed)).toBe(
          `false: ${component} of cp-2 is not ready. Bring cp-2 back first. If this change mends it, confirm that with its name`,
        )
      for (const changed of [all, ['2']])
        expect(says(of, changed, ['cp-2'])).toBe(
          'true: The change begins with cp-2, which it is to mend',
        )
    },
  )

  test('the quorum of etcd is kept, so a healthy member waits for one that is mended first', () => {
    const of = states('kube-apiserver', 'etcd', null)
    expect(says(of, all, ['cp-1', 'cp-2'])).toBe(
      'false: etcd of cp-2 is not ready. Bring the other members of etcd back first',
    )
  })

  test('a server that is not well must be changed to be mended', () => {
    expect(says(states('kubelet', null, null), ['2'], ['cp-1'])).toBe(
      'false: kubelet of cp-1 is not ready. Choose cp-1 as well, because only a server that is changed can be mended',
    )
  })

  test('every control plane is well', () => {
    expect(says(states(null, null, null), all)).toBe('true: Every control plane is well')
  })
})
