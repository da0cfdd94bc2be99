import { expect, test } from 'vitest'
import { canShowNewKeys, nodeSaid } from './cluster-state.ts'

const since = '2026-11-20T10:00:00.000Z'

test('a node that is dead in Kubernetes is not ready, and one that nobody could ask about is unknown', () => {
  expect(nodeSaid({ ready: true, reason: null, since })).toEqual({ tone: 'ok', word: 'Ready', why: null })
  const dead = 'NodeStatusUnknown: Kubelet stopped posting node status.'
  expect(nodeSaid({ ready: false, reason: dead, since })).toEqual({ tone: 'danger', word: 'Not ready', why: dead })
  expect(nodeSaid({ ready: null, reason: 'The Kubernetes API does not answer', since })).toMatchObject({ tone: 'off', word: 'Unknown' })
  expect(nodeSaid(null)).toMatchObject({ tone: 'off', word: 'Not joined yet' })
})

test('where there are no clusters, it is not said that they all have their offers', () => {
  expect(canShowNewKeys([])).toEqual({ ok: false, reason: 'There are no clusters here yet' })
  expect(canShowNewKeys([{ offerId: '0x1' }])).toEqual({ ok: false, reason: 'Every cluster here has its offer already' })
  expect(canShowNewKeys([{ offerId: '0x1' }, { offerId: null }])).toEqual({ ok: true })
})
