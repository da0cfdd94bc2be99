// @vitest-environment happy-dom
import { QueryClientProvider } from '@tanstack/react-query'
import { cleanup, render, screen } from '@testing-library/react'
import { afterEach, expect, test, vi } from 'vitest'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { queryClient } from '../../../api/query.ts'
import { ChangePage } from './ChangePage.tsx'

const api = vi.hoisted(() => ({ status: 'installing' }))
vi.mock('../../../api/client.ts', () => ({
  CallError: class extends Error {},
  call: async () => ({ id: 'c1', name: 'web', status: api.status, servers: [] }),
}))

const show = (status: Cluster['status']) => {
  api.status = status
  render(
    <QueryClientProvider client={queryClient}>
      <ChangePage id="c1" kind="replace" server="s1" snapshot={undefined} isForced={false} />
    </QueryClientProvider>,
  )
}
afterEach(() => {
  cleanup()
  queryClient.clear()
})

test.each([
  ['installing', 'web is not created yet'],
  ['failed', 'web is not created yet'],
  ['deleting', 'web is being deleted'],
] as const)(
  'a cluster that is %s can’t be changed, and its timeline is offered',
  async (status, title) => {
    show(status)
    expect(await screen.findByText(title)).toBeTruthy()
    const link = screen.getByRole('link', { name: 'Open its timeline' })
    expect(link.getAttribute('href')).toBe('/infra/clusters/c1?tab=timeline')
  },
)
