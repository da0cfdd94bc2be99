import { expect, test } from 'vitest'
import { beginningSaid } from './history.ts'
import { knownSaid } from './known.ts'

test('what was known of a server or cluster before its history is said in words', () => {
  expect(
    knownSaid('server', {
      stage: 'running',
      address: '10.0.0.5',
      datacenter: 'PL-POZ-1',
      cluster: { id: 'x', name: 'web' },
      role: 'control_plane',
      talos_version: 'v1.13.9',
      hardware: null,
      reachable: false,
      failure: null,
    }),
  ).toBe(
    'running, at 10.0.0.5, in PL-POZ-1, in the cluster web as control plane, with Talos v1.13.9, without an answer',
  )
  expect(knownSaid('server', { stage: 'maintenance', cluster: null, hardware: ['disk a'] })).toBe(
    'in maintenance mode, in no cluster, with 1 part of hardware: disk a',
  )
  expect(
    knownSaid('cluster', {
      status: 'ready',
      kubernetes_version: '1.36.3',
      talos_version: 'v1.13.9',
      endpoint: 'https://10.0.0.1:6443',
    }),
  ).toBe('ready, with Kubernetes 1.36.3, on Talos v1.13.9, at https://10.0.0.1:6443')
  expect(knownSaid('cluster', {})).toBeNull()
})

test('a timeline without a known past says why it begins where it does', () => {
  const nothing = { is_cut: false, known: null }
  expect(beginningSaid(nothing, 'all')).toContain('before Steelyard was set up')
  expect(beginningSaid(nothing, 'object')).toContain('before it was added')
  expect(beginningSaid({ ...nothing, is_cut: true }, 'object')).toBe('Older entries were removed.')
  expect(beginningSaid({ is_cut: true, known: 'ready' }, 'object')).toBe('Before, it was ready.')
})
