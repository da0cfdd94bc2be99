// @vitest-environment happy-dom
import { QueryClientProvider } from '@tanstack/react-query'
import { act, cleanup, render, screen } from '@testing-library/react'
import { useEffect, useState } from 'react'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Server } from '#contract/servers/servers.ts'
import { queryClient } from '../../../api/query.ts'
import { blank, type Draft } from './draft.ts'
import Preselected from './Preselected.tsx'
import { useServersOf } from './use-servers-of.ts'

const datacenters = [
  { id: 'd1', code: 'PL-POZ-1' },
  { id: 'd2', code: 'DE-FRA-1' },
]
const server = (id: string, datacenter: number, ineligible: string | null = null) =>
  ({
    id,
    name: id,
    status: 'maintenance',
    datacenter: datacenters[datacenter],
    ineligible,
    talos: { installed: null },
    hardware: { cores: 8, memory_bytes: 2 ** 36, disk_bytes: null },
    resources: {
      node_addresses: [],
      processors: [],
      memory: [],
      interfaces: [],
      disks: [{ id: 'sda', size: 10 ** 12, content: 'empty' }],
    },
  }) as unknown as Server
const fleet = [
  server('a', 0),
  server('b', 1),
  server('c', 1, 'The server has no disk'),
  server('d', 1),
]

const api = vi.hoisted(() => ({ whole: Promise.withResolvers<void>(), fails: false }))
/** A page of at most two servers. */
const pageOf = (servers: readonly Server[], page: number) => ({
  items: servers.slice(2 * (page - 1), 2 * page),
  total: servers.length,
})
vi.mock('../../../api/client.ts', () => ({
  CallError: class extends Error {},
  call: async (
    _operation: unknown,
    { query }: { query: { fields?: string; datacenter?: string; page: number } },
  ) => {
    if (api.fails) throw new Error('No answer')
    if (query.fields === 'list') return pageOf(fleet, query.page)
    await api.whole.promise
    return pageOf(
      fleet.filter((s) => s.datacenter?.code === query.datacenter),
      query.page,
    )
  },
}))

beforeEach(() => {
  api.whole = Promise.withResolvers()
})
afterEach(() => {
  cleanup()
  queryClient.clear()
})

/** Shows the notice of a form with this selection. Returns the form's draft. */
function show(of: string): { draft: Draft } {
  const shown = { draft: blank }
  function Form() {
    const [draft, setDraft] = useState<Draft>(blank)
    const [change] = useState(
      () => (patch: Partial<Draft> | ((now: Draft) => Partial<Draft>)) =>
        setDraft((now) => ({ ...now, ...(typeof patch === 'function' ? patch(now) : patch) })),
    )
    const { data } = useServersOf(datacenters.find((d) => d.id === draft.datacenterId)?.code)
    useEffect(() => void (shown.draft = draft))
    return <Preselected of={of} draft={draft} change={change} servers={data} />
  }
  render(
    <QueryClientProvider client={queryClient}>
      <Form />
    </QueryClientProvider>,
  )
  return shown
}

test('the selected servers of one datacenter that can join are chosen with it; others are named with the reason', async () => {
  const form = show('b,c,d,a,gone')
  await vi.waitFor(() => expect(form.draft.datacenterId).toBe('d1'))
  expect(form.draft.servers).toEqual({})
  await act(async () => api.whole.resolve())
  expect((await screen.findByRole('status')).textContent).toContain('4 of 5 selected servers left')
  expect(screen.getAllByRole('listitem').map((one) => one.textContent)).toEqual([
    'b, c, d: In DE-FRA-1, and a cluster has the servers of one datacenter',
    'gone: There is no such server any more',
  ])
  await vi.waitFor(() => expect(Object.keys(form.draft.servers)).toEqual(['a']))
  await act(async () => screen.getByRole('button', { name: 'Dismiss' }).click())
  expect(screen.queryByRole('status')).toBeNull()
})

test('servers behind the first page of the list are chosen, and an ineligible one gives its reason', async () => {
  api.whole.resolve()
  const form = show('c,d')
  expect((await screen.findByRole('listitem')).textContent).toBe('c: The server has no disk')
  await vi.waitFor(() => expect(Object.keys(form.draft.servers)).toEqual(['d']))
  expect(form.draft.datacenterId).toBe('d2')
})

test('a selection that could not be loaded is loaded by another try', async () => {
  queryClient.setDefaultOptions({ queries: { retry: false } })
  api.whole.resolve()
  api.fails = true
  const form = show('b')
  expect((await screen.findByRole('alert')).textContent).toContain('could not be loaded: No answer')
  api.fails = false
  await act(async () => screen.getByRole('button', { name: 'Try again' }).click())
  await vi.waitFor(() => expect(Object.keys(form.draft.servers)).toEqual(['b']))
})
