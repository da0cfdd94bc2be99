/** What a wait says about dead components, without machines. */
import { describe, expect, test } from 'vitest'
import type { Illness } from '../../control-planes/judge.ts'
import { keyOf } from '../frame.ts'
import { isTouched, mayBoot, unnamedIn } from './dead.ts'

/** Steps of servers a and b, `*` for the whole cluster: `a.names` and so on. */
const steps = (...names: string[]) =>
  names.map((name) => {
    const [on, prefix] = name.split('.') as [string, string]
    const node_id = on === '*' ? null : on
    if (node_id === null) return { key: prefix, node_id }
    const gate = /^gate-(.+)$/.exec(prefix)
    return {
      key: gate ? `control-plane/${on}/${gate[1]}` : keyOf(prefix, on),
      node_id,
    }
  })

describe('what ails a control plane is what a step waits for', () => {
  const of = (all: ReturnType<typeof steps>) =>
    all.filter((s) => isTouched(all, s.key)).map((s) => s.key)

  test('from the step that sends the change to the wait for the control plane', () => {
    const all = steps(
      'a.etcd-healthy',
      'a.try',
      'a.configure',
      'a.answers',
      'a.node-ready',
      'a.gate-configure',
      'a.uncordon',
      'b.etcd-healthy',
      'b.configure',
      'b.gate-configure',
    )
    expect(of(all)).toEqual([
      'configure/a',
      'answers/a',
      'node-ready/a',
      'control-plane/a/configure',
      'configure/b',
      'control-plane/b/configure',
    ])
  })

  test('not on a worker, nor in a step of the whole cluster', () => {
    expect(of(steps('*.image', 'a.configure', 'a.answers', '*.manifests'))).toEqual([])
  })

  test('in each of several groups of a server', () => {
    const all = steps(
      'a.names',
      'a.gate-names',
      '*.reach',
      'a.endpoint',
      'a.node-ready',
      'a.gate-endpoint',
    )
    expect(of(all)).toEqual([
      'names/a',
      'control-plane/a/names',
      'endpoint/a',
      'node-ready/a',
      'control-plane/a/endpoint',
    ])
  })
})

test('a wait in which a machine may boot does not end the change early', () => {
  const restarts = steps('a.drain', 'a.switch', 'a.gate-switch', 'b.switch', 'b.gate-switch')
  const upgrades = steps('a.drain', 'a.upgrade', 'a.etcd-healthy', 'a.gate-upgrade')
  const configures = steps('a.configure', 'a.answers', 'a.node-ready', 'a.gate-configure')
  const of = (all: ReturnType<typeof steps>) => all.filter((s) => mayBoot(all, s)).map((s) => s.key)
  expect(of(restarts)).toEqual(['switch/a'])
  expect(of(upgrades)).toEqual(['upgrade/a'])
  expect(of(configures)).toEqual(['answers/a'])
})

describe('the components that a sentence does not name yet', () => {
  const ill = (why: string, isDead = true): Illness => ({ component: 'etcd', why, isDead })
  const states = (...illnesses: Illness[]) => [{ node_id: 'a', name: 'cp-1', illnesses }]
  const says = (text: string, ...illnesses: Illness[]) =>
    unnamedIn(text, states(...illnesses)).flatMap((one) => one.illnesses.map(({ why }) => why))
  const etcd = 'etcd of cp-1 does not run: exit code 1'

  test('are those that are dead', () => {
    expect(says('connection refused', ill(etcd), ill('cp-1 is not Ready: unknown', false))).toEqual(
      [etcd],
    )
  })

  test('are not told twice, also in other words', () => {
    expect(says(`It waits. ${etcd}`, ill(etcd))).toEqual([])
    expect(says('cp-1: exit code 1', ill(etcd))).toEqual([])
    expect(says('connection refused', ill('etcd of cp-1 does not run'))).toEqual([
      'etcd of cp-1 does not run',
    ])
  })
})
