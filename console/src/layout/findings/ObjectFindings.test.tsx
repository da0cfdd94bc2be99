// @vitest-environment happy-dom
import { QueryClientProvider } from '@tanstack/react-query'
import { cleanup, render, screen } from '@testing-library/react'
import { afterEach, expect, test, vi } from 'vitest'
import type { Server } from '#contract/servers/servers.ts'
import { queryClient } from '../../api/query.ts'
import { ClusterFindings, MoreFindings, Remedies } from './ObjectFindings.tsx'

const answers = vi.hoisted((): Record<string, unknown> => ({}))
vi.mock('../../api/client.ts', () => ({
  CallError: class extends Error {},
  call: async ({ name }: { name: string }) => {
    if (answers[name] === undefined) throw new Error('The database is away')
    return answers[name]
  },
}))
vi.mock('../../api/session.ts', () => ({
  allowed: () => ({ ok: true }),
  heldScopes: () => null,
}))

afterEach(() => {
  cleanup()
  queryClient.clear()
  for (const name of Object.keys(answers)) delete answers[name]
})

const silent = {
  id: 'f1',
  kind: 'server_unreachable',
  severity: 'down',
  object: { kind: 'server', id: 's1', name: 'amber-1' },
  cluster: null,
  datacenter: null,
  since: '2026-11-28T20:00:00.000Z',
  reason: 'It does not answer.',
  remedies: [],
  acknowledged: null,
  affected: null,
  ended_at: null,
}

test('the page of a server offers what mends it, never the page itself, and leads to its other findings', async () => {
  const remedies = [
    { title: 'Open the server', action: 'server', call: 'GET /v1/nodes/s1' },
    { title: 'Replace it', action: 'replace', call: 'POST /v1/clusters/c1/changes' },
  ]
  answers['findingGet'] = { ...silent, cluster: { id: 'c1', name: 'web' }, remedies }
  answers['findingList'] = { items: [silent], total: 3 }
  const server = { id: 's1', name: 'amber-1', finding: silent } as unknown as Server
  render(
    <QueryClientProvider client={queryClient}>
      <Remedies of={server} here="/infra/servers/s1" />
      <MoreFindings server={server} />
    </QueryClientProvider>,
  )
  const link = await screen.findByRole('link', { name: '2 more findings' })
  expect(link.getAttribute('href')).toBe('/findings?object=s1')
  await screen.findByRole('link', { name: 'Replace it' })
  expect(screen.queryByText('Open the server')).toBeNull()
})

test('the page of a cluster names the server of a finding, with its reason as a sentence', async () => {
  const failed = { ...silent, kind: 'server_failed', reason: 'came back in maintenance' }
  answers['findingList'] = { items: [failed], total: 1 }
  render(
    <QueryClientProvider client={queryClient}>
      <ClusterFindings cluster={{ id: 'c1', name: 'web' }} />
    </QueryClientProvider>,
  )
  const row = (await screen.findByRole('link', { name: 'amber-1' })).closest('li')!
  expect(row.textContent).toContain('Came back in maintenance')
})

test('findings of a cluster that could not be loaded are not shown as none', async () => {
  render(
    <QueryClientProvider client={queryClient}>
      <ClusterFindings cluster={{ id: 'c1', name: 'web' }} />
    </QueryClientProvider>,
  )
  const said = 'The findings of web could not be loaded: The database is away'
  expect(await screen.findByText(said)).toBeTruthy()
})
