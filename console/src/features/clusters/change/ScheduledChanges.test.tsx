// @vitest-environment happy-dom
import { QueryClientProvider } from '@tanstack/react-query'
import { cleanup, render, screen } from '@testing-library/react'
import { afterEach, expect, test, vi } from 'vitest'
import type { Cluster } from '#contract/clusters/clusters.ts'
import type { Operation } from '#contract/operations.ts'
import { queryClient } from '../../../api/query.ts'
import ScheduledChanges from './ScheduledChanges.tsx'

const api = vi.hoisted(() => ({ answer: (_status: string | undefined): unknown => undefined }))
vi.mock('../../../api/client.ts', () => ({
  CallError: class extends Error {},
  call: async (_: unknown, { query }: { query: { status?: string } }) => api.answer(query.status),
}))
vi.mock('../../../api/session.ts', () => ({
  allowed: () => ({ ok: true }),
  heldScopes: () => null,
}))

afterEach(() => {
  cleanup()
  queryClient.clear()
})

const operation = (id: string, more: Partial<Operation>): Operation => ({
  id,
  kind: 'clusterDefragment',
  target: { kind: 'cluster', id: 'c1', name: 'web' },
  status: 'pending',
  reason: null,
  created_by: 'ada@example.com',
  created_at: '2026-11-01T08:00:00.000Z',
  started_at: null,
  ended_at: null,
  steps: [],
  ...more,
})
const show = () =>
  render(
    <QueryClientProvider client={queryClient}>
      <ScheduledChanges
        cluster={{ id: 'c1', name: 'web', maintenance_window: null } as unknown as Cluster}
      />
    </QueryClientProvider>,
  )

test('a change that waits is shown however many operations have ended since it was requested', async () => {
  const waiting = operation('waits', { starts_at: '2030-01-01T02:00:00.000Z' })
  const later = Array.from({ length: 100 }, (_, i) => operation(`o-${i}`, { status: 'done' }))
  api.answer = (status) => ({ items: status === 'open' ? [waiting] : later, total: 101 })
  show()
  const link = await screen.findByRole('link', { name: /web/ })
  expect(link.getAttribute('href')).toBe('/operations/waits')
})

test('that the scheduled changes could not be loaded is said, not that there are none', async () => {
  api.answer = () => {
    throw new Error('The database is away')
  }
  show()
  await screen.findByText('Scheduled changes could not be loaded: The database is away')
  expect(screen.getByRole('button', { name: 'Try again' })).toBeTruthy()
})
