// @vitest-environment happy-dom
import { QueryClientProvider } from '@tanstack/react-query'
import { cleanup, fireEvent, render, screen, within } from '@testing-library/react'
import { afterEach, expect, test } from 'vitest'
import { clusterHealth, type ClusterHealth } from '#contract/clusters/health.ts'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { keyOf, queryClient } from '../../../api/query.ts'
import { healthActions } from './health-actions.ts'
import HealthLines from './HealthLines.tsx'
import HealthTab from './HealthTab.tsx'

const cluster = { id: 'c1', name: 'web', status: 'ready' } as unknown as Cluster
const version = { current: 'v1.13.9', newest: 'v1.13.9', next: null, after: null, reason: null }
const health: ClusterHealth = {
  at: new Date().toISOString(),
  lines: [
    {
      topic: 'etcd',
      state: 'problem',
      message: '2 of 3 members are healthy. cp-2 is not healthy: connection refused.',
      remedies: [{ change: 'shrink', node_id: 'n2', name: 'cp-2' }],
    },
    {
      topic: 'database',
      state: 'problem',
      message: 'etcd is full and refuses writes (alarm NOSPACE of cp-1).',
      remedies: [{ change: 'defragment', node_id: null, name: null }],
    },
    { topic: 'nodes', state: 'ok', message: 'All 3 nodes are Ready.', remedies: [] },
  ],
  etcd: {
    members: [
      {
        id: '1',
        name: 'cp-1',
        node_id: 'n1',
        leader: true,
        learner: false,
        version: '3.6.12',
        size_bytes: 2_147_000_000,
        in_use_bytes: 2_000_000,
        alarms: ['nospace'],
        healthy: true,
        reason: null,
      },
      {
        id: '2',
        name: 'cp-2',
        node_id: 'n2',
        leader: null,
        learner: false,
        version: null,
        size_bytes: null,
        in_use_bytes: null,
        alarms: [],
        healthy: null,
        reason: 'connection refused',
      },
    ],
    reason: null,
  },
  kubernetes_api: [],
  nodes: [],
  snapshot: null,
  versions: { talos: version, kubernetes: version },
  drift: [],
}

afterEach(() => {
  cleanup()
  queryClient.clear()
})

test('what is not OK has a line with its reason and one remedy, and what is OK is one folded line', () => {
  queryClient.setQueryData([keyOf(clusterHealth), { params: { id: 'c1' } }], health)
  render(
    <QueryClientProvider client={queryClient}>
      <HealthLines cluster={cluster} />
      <HealthTab cluster={cluster} />
    </QueryClientProvider>,
  )
  const lines = within(screen.getByRole('list', { name: 'Health of web' })).getAllByRole('listitem')
  expect(lines.map((line) => line.textContent)).toHaveLength(2)
  expect(within(lines[0]!).getByText('Problem')).toBeTruthy()
  expect(within(lines[0]!).getByText('Remove cp-2 by force')).toBeTruthy()
  expect(within(lines[0]!).queryByText('Open cp-2')).toBeNull()
  expect(within(lines[1]!).getByText('Defragment etcd')).toBeTruthy()
  const well = screen.getByRole('button', { name: /^1 more is OK: / })
  fireEvent.click(well)
  const all = within(screen.getByRole('list', { name: 'Health of web' })).getAllByRole('listitem')
  expect(within(all[2]!).queryAllByRole('button')).toEqual([])
  // Unknown values are never shown as 0.
  const members = screen.getByRole('table', { name: 'Members of etcd of web' })
  expect(within(members).getByText('connection refused')).toBeTruthy()
  expect(within(members).queryByText('0 B')).toBeNull()
})

test('the links of a cluster without a leader lead to the control planes that do not answer, and an unknown node has no link', () => {
  const member = health.etcd.members[0]!
  const named = (n: number) => ({ node_id: `n${n}`, name: `cp-${n}` })
  const lost: ClusterHealth = {
    ...health,
    etcd: {
      ...health.etcd,
      members: [1, 2, 3].map((n) => ({
        ...member,
        ...named(n),
        id: `${n}`,
        leader: null,
        healthy: n === 1 ? false : null,
      })),
    },
    kubernetes_api: [1, 2, 3].map((n) => ({ ...named(n), ready: false, reason: 'no leader' })),
    nodes: [
      {
        ...named(1),
        role: 'control_plane',
        ready: null,
        reason: 'no answer',
      } as ClusterHealth['nodes'][number],
    ],
  }
  const labels = (topic: ClusterHealth['lines'][number]['topic']) =>
    healthActions(cluster, lost, { topic, state: 'problem', message: '', remedies: [] }).map(
      ({ label }) => label,
    )
  expect(labels('etcd')).toEqual(['Open cp-2', 'Open cp-3'])
  expect(labels('kubernetes_api')).toEqual(['Open cp-2', 'Open cp-3'])
  expect(labels('nodes')).toEqual([])
})
