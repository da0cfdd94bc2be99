// @vitest-environment happy-dom
import { QueryClientProvider } from '@tanstack/react-query'
import { cleanup, render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { useState } from 'react'
import { afterEach, expect, test, vi } from 'vitest'
import type { HistoryEntry, historyList } from '#contract/history/history.ts'
import type { Answer } from '#contract/operation.ts'
import { queryClient } from '../../api/query.ts'
import type { ListSearch } from '../../lib/list-search.ts'
import { exact } from '../../lib/time/time.ts'
import { HistoryTable } from './HistoryTable.tsx'

type Page = Answer<typeof historyList>
type Asked = { query: Record<string, string | undefined> }
const api = vi.hoisted(() => ({
  pages: {} as Record<string, unknown>,
  asked: [] as unknown[],
}))
vi.mock('../../api/client.ts', () => ({
  CallError: class extends Error {},
  call: ({ name }: { name: string }, { query }: Asked) => {
    if (name !== 'historyList') return Promise.reject(new Error(`${name} is not asked here`))
    api.asked.push(query)
    return Promise.resolve(api.pages[query['after'] ?? 'first'])
  },
}))

afterEach(() => {
  cleanup()
  queryClient.clear()
})

const page = (more: Partial<Page>): Page => ({
  items: [],
  next: null,
  read_to: null,
  now: '2026-11-28T08:00:00.000Z',
  beginning: { at: '2025-01-01T00:00:00.000Z', is_cut: false, known: null },
  ...more,
})
const entry: HistoryEntry = {
  id: 7,
  at: '2025-03-02T10:00:00.000Z',
  kind: 'server_contact',
  object: { kind: 'server', id: '00000000-0000-4000-8000-000000000001', name: 'amber-falcon' },
  cluster: null,
  message: 'No answer: the switch failed',
  by: { kind: 'steelyard', name: 'Steelyard' },
  operation: null,
  before: {},
  after: {},
  has_log: false,
  simulated: false,
}

/** The history of a cluster, whose search params are kept as the URL keeps them. */
function History({ initial = {} }: { initial?: ListSearch }) {
  const [search, setSearch] = useState<ListSearch>({ q: 'switch', ...initial })
  return (
    <QueryClientProvider client={queryClient}>
      <HistoryTable
        search={search}
        setSearch={(change) => setSearch((before) => ({ ...before, ...change }))}
        subject={{ cluster: '00000000-0000-4000-8000-00000000000c' }}
        of="this cluster"
      />
    </QueryClientProvider>
  )
}
const goOn = () => screen.findByRole('button', { name: 'Go on' })

test('a search that read a part without a match says to when, and goes on to the entries that match', async () => {
  const [first, second] = ['2026-06-01T00:00:00.000Z', '2025-03-01T00:00:00.000Z']
  api.pages = {
    first: page({ next: '1700000000000-9', read_to: first }),
    '1700000000000-9': page({ items: [entry], next: '1600000000000-3', read_to: second }),
    '1600000000000-3': page({}),
  }
  render(<History />)
  await screen.findByText('No match so far')
  expect(document.body.textContent).toContain(
    `Read back to ${exact(first)}. Older entries may match.`,
  )
  // The part says nothing of the beginning of the history.
  expect(screen.queryByRole('note', { name: 'Beginning of the history' })).toBeNull()
  await userEvent.click(await goOn())
  await screen.findAllByText(entry.message)
  expect(screen.queryByText('No match so far')).toBeNull()
  const part = screen.getByRole('note', { name: 'Part that was read' })
  expect(part.textContent).toBe(`Read back to ${exact(second)}. Older entries may match. Go on`)
  await userEvent.click(await goOn())
  // The whole was read: the rest has no match, and nothing is left to go on to.
  await screen.findByRole('note', { name: 'Beginning of the history' })
  expect(screen.queryByRole('button', { name: 'Go on' })).toBeNull()
  expect(api.asked).toEqual(
    [undefined, '1700000000000-9', '1600000000000-3'].map(
      (after) =>
        expect.objectContaining({ q: 'switch', ...(after !== undefined && { after }) }) as unknown,
    ),
  )
})

test('from the oldest on, a part says to when it was read forward', async () => {
  api.pages = { first: page({ next: '1800000000000-1', read_to: '2025-06-01T00:00:00.000Z' }) }
  render(<History initial={{ sort: 'at' }} />)
  await screen.findByText('No match so far')
  expect(document.body.textContent).toContain('Read forward to ')
  expect(document.body.textContent).toContain('Newer entries may match.')
  expect(await goOn()).toBeTruthy()
})
