// @vitest-environment happy-dom
import { QueryClientProvider } from '@tanstack/react-query'
import { cleanup, fireEvent, render, screen } from '@testing-library/react'
import { afterEach, expect, test, vi } from 'vitest'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { clusterPods, type ClusterPods } from '#contract/clusters/pods.ts'
import { keyOf, queryClient } from '../../../api/query.ts'
import PodsTab from './PodsTab.tsx'

const cluster = {
  id: 'c1',
  name: 'web',
  servers: [{ node_id: 'n1', name: 'cp-1', role: 'control_plane' }],
} as unknown as Cluster
const pod: ClusterPods['items'][number] = {
  namespace: 'shop',
  name: 'web-1',
  node: 'cp-1',
  node_id: 'n1',
  owner: null,
  state: 'CrashLoopBackOff',
  ready: false,
  reason: 'back-off restarting failed container',
  containers_ready: 0,
  containers: 1,
  restarts: 41,
  started_at: null,
  on_drain: 'lost',
}

afterEach(() => {
  cleanup()
  queryClient.clear()
})

function show(pods: ClusterPods, search: { q?: string; node_id?: string } = {}) {
  const events = { onQ: vi.fn<(text: string) => void>(), onServer: vi.fn<(text: string) => void>() }
  queryClient.setQueryData([keyOf(clusterPods), { params: { id: 'c1' }, query: search }], pods)
  render(
    <QueryClientProvider client={queryClient}>
      <PodsTab cluster={cluster} q={search.q ?? ''} server={search.node_id} {...events} />
    </QueryClientProvider>,
  )
  return events
}

test('a pod shows its state with the reason and links to its server', () => {
  show({ items: [pod], total: 1200, not_ready: 3 })
  expect(screen.getByRole('status').textContent).toBe(
    '1\u202f200 pods, 3 not ready; the first 1 are shown',
  )
  expect(screen.getByText('CrashLoopBackOff')).toBeTruthy()
  expect(screen.getAllByRole('link', { name: 'cp-1' })[0]?.getAttribute('href')).toBe(
    '/infra/servers/n1',
  )
})

test('choosing a server reports its id, and a search without a match says what to change', () => {
  const { onServer } = show({ items: [], total: 0, not_ready: 0 }, { q: 'nothing' })
  expect(screen.getByText('No pods match')).toBeTruthy()
  fireEvent.change(screen.getByRole('combobox', { name: 'Server' }), { target: { value: 'n1' } })
  expect(onServer).toHaveBeenCalledWith('n1')
})
