import { expect, test } from 'vitest'
import { findingKinds, findingSeverities, kindsOfFindings } from '../findings/kinds.ts'
import { effectOf, effects, effectsInOrder, incidentTitle, isWorse } from './effects.ts'

test('every kind of finding has an effect and a title that names its object', () => {
  for (const kind of kindsOfFindings) {
    const name = findingKinds[kind].object === 'installation' ? 'Steelyard' : 'thing'
    const title = incidentTitle({ kind, name, count: '40 servers', cause: null })
    expect(effectsInOrder).toContain(effectOf({ kind, isControlPlane: false }))
    expect(title).not.toMatch(/[{}]|\.$/)
    expect(title).toContain(name)
  }
})

test('the severity follows from the effect, and is never better than that of a worse one', () => {
  const places = effectsInOrder.map((effect) => findingSeverities.indexOf(effects[effect].severity))
  expect(places).toEqual([0, 0, 1, 1, 2])
})

test('what serves nobody and what refuses writes come before a lost member and a lonely worker', () => {
  const of = (kind: (typeof kindsOfFindings)[number], isControlPlane = false) =>
    effectOf({ kind, isControlPlane })
  expect(of('cluster_quorum_lost')).toBe('nobody_served')
  expect(of('cluster_api_down')).toBe('nobody_served')
  expect(of('cluster_etcd_full')).toBe('writes_refused')
  expect(of('server_unreachable', true)).toBe('redundancy_gone')
  expect(of('cluster_etcd_member_ill')).toBe('redundancy_gone')
  expect(of('server_unreachable')).toBe('one_server')
  expect(of('server_shared_patches_behind', true)).toBe('in_time')
  expect(isWorse('writes_refused', 'redundancy_gone')).toBe(true)
  expect(isWorse('one_server', 'one_server')).toBe(false)
})

test('findings with one cause have one title', () => {
  expect(
    incidentTitle({
      kind: 'server_shared_patches_behind',
      name: 'web-1',
      count: '40 servers',
      cause: 'vlan-40',
    }),
  ).toBe('40 servers are behind the shared patch vlan-40')
})
