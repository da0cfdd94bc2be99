// @vitest-environment happy-dom
import { QueryClientProvider } from '@tanstack/react-query'
import { cleanup, render, screen, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { useState } from 'react'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { ListedServer } from '#contract/servers/server.ts'
import { authStatus } from '../../../api/auth.ts'
import { CallError } from '../../../api/http.ts'
import { queryClient } from '../../../api/query.ts'
import type { ListSearch } from '../../../lib/list-search.ts'
import { columns } from '../../../ui/table/DataTable.tsx'
import { useChosen, useSelection } from '../../../ui/table/selection.ts'
import type { Group } from '../../../layout/groups/grouping.ts'
import { serversQuery } from '../server-queries.ts'
import { GroupedServers } from '../../../layout/groups/groups.tsx'

/** 70 servers in the cluster web, and 2 in none. */
const servers = Array.from({ length: 72 }, (_, i) => ({
  id: `id-${i}`,
  name: `amber-${String(i).padStart(2, '0')}`,
  cluster: i < 70 ? { id: 'c-web', name: 'web' } : null,
})) as Partial<ListedServer>[] as ListedServer[]
const since = '2026-11-28T12:00:00.000Z'
const finding: Group['finding'] = {
  id: 'f',
  kind: 'server_unreachable',
  severity: 'down',
  since,
  reason: 'No answer',
}
const usual: Group[] = [
  { value: 'c-web', name: 'web', servers: 70, finding },
  { value: null, name: null, servers: 2, finding: null },
]

let groups: () => { items: Group[]; total: number; servers: number }
const answered = (items: Group[], total = items.length) => {
  groups = () => ({ items, total, servers: 72 })
}
vi.mock(import('../../../api/client.ts'), async (original) => ({
  ...(await original()),
  call: (async (
    { name }: { name: string },
    { query }: { query: { cluster?: string; page: number; per_page: number } },
  ) => {
    if (name === 'serverGroups') return groups()
    const { page, per_page, cluster } = query
    const found = servers.filter((s) => (s.cluster?.id ?? 'none') === cluster)
    return {
      items: found.slice((page - 1) * per_page, page * per_page),
      page,
      per_page,
      total: found.length,
    }
  }) as never,
}))

beforeEach(() => {
  authStatus.set('signedIn')
  answered(usual)
  // happy-dom lacks it.
  HTMLElement.prototype.showPopover = () => undefined
})
afterEach(() => {
  cleanup()
  queryClient.clear()
})

const idOf = (s: ListedServer) => s.id
const shownColumns = columns<ListedServer>([{ id: 'name', head: 'Name', cell: (s) => s.name }])

function Page({ by = 'cluster', start = {} }: { by?: string; start?: ListSearch }) {
  const [search, setSearch] = useState<ListSearch>({ group: by, ...start })
  const selection = useSelection()
  const { chosen, remember } = useChosen(selection.keys, undefined, idOf)
  return (
    <QueryClientProvider client={queryClient}>
      <p>{selection.size} chosen</p>
      <GroupedServers
        by={by}
        itemsOf={serversQuery}
        search={search}
        setSearch={(change) => setSearch({ ...search, ...change })}
        chosen={chosen}
        remember={remember}
        table={{
          label: 'Servers',
          rows: undefined,
          columns: shownColumns,
          rowKey: idOf,
          rowName: (s) => s.name,
          selection,
          empty: 'No servers yet',
        }}
      />
    </QueryClientProvider>
  )
}
const heading = (name: string) => screen.findByRole('heading', { level: 2, name })
const tick = (name: string) => screen.findByRole<HTMLInputElement>('checkbox', { name })
const web = 'Select all of web: 70 servers'

test('each group has a heading with its count and its worst finding, and opens its servers in pages', async () => {
  const user = userEvent.setup()
  render(<Page />)
  expect(
    within(await heading('web'))
      .getByRole('link')
      .getAttribute('href'),
  ).toBe('/infra/clusters/c-web')
  await heading('In no cluster')
  expect(screen.getByRole('region', { name: 'web' }).textContent).toBe(
    'web70 serversUnreachableNo answer'.replace('web', `${web}web`),
  )
  expect(screen.queryByRole('table')).toBeNull()
  const toggle = screen.getByRole('button', { name: 'Servers of web' })
  expect(toggle.getAttribute('aria-expanded')).toBe('false')
  await user.click(toggle)
  const table = await screen.findByRole('table', { name: 'web' })
  expect(within(table).getAllByRole('row')).toHaveLength(51)
  expect(toggle.getAttribute('aria-expanded')).toBe('true')
  await user.click(screen.getByRole('button', { name: 'Next page' }))
  await screen.findByText('amber-69')
  await user.keyboard('{Escape}')
  toggle.focus()
  await user.keyboard('{ArrowDown}')
  expect(document.activeElement?.getAttribute('aria-label')).toBe('Servers of In no cluster')
})

test("a group's tick chooses its servers of all pages, and takes back only these", async () => {
  const user = userEvent.setup()
  render(<Page start={{ open: '!' }} />)
  await user.click(await tick('Select amber-70'))
  expect((await tick('Select all of In no cluster: 2 servers')).indeterminate).toBe(true)
  await user.click(await tick(web))
  await screen.findByText('71 chosen')
  expect((await tick(web)).checked).toBe(true)
  // The tick of the open table's page leaves the other group alone.
  await user.click(await tick('Select all on this page'))
  await screen.findByText('72 chosen')
  expect((await tick('Select all of In no cluster: 2 servers')).checked).toBe(true)
  await user.click(await tick(web))
  await screen.findByText('2 chosen')
})

test('a group that has grown since its tick is no longer chosen as a whole', async () => {
  const user = userEvent.setup()
  render(<Page />)
  await user.click(await tick(web))
  await screen.findByText('70 chosen')
  answered([{ ...usual[0]!, servers: 71 }, usual[1]!])
  await queryClient.invalidateQueries()
  const grown = await tick('Select all of web: 71 servers')
  expect([grown.checked, grown.indeterminate]).toEqual([false, true])
})

test('headings beyond the first hundred are shown on demand, and what is not listed is said', async () => {
  const user = userEvent.setup()
  const many = Array.from({ length: 1000 }, (_, i) => ({
    value: `r-${i}`,
    name: `r-${i}`,
    servers: 1,
    finding: null,
  }))
  answered(many, 1734)
  render(<Page by="label:serial" />)
  await screen.findByText(/^100 of 1\s734 groups. At most 1\s000 are listed: filter the list/)
  expect(screen.getAllByRole('heading')).toHaveLength(100)
  await user.click(screen.getByRole('button', { name: 'Show 100 more' }))
  expect(screen.getAllByRole('heading')).toHaveLength(200)
  expect(screen.getByRole('button', { name: 'Open all' }).getAttribute('aria-disabled')).toBe(
    'true',
  )
})

test('an empty list, groups that fail to load, and an unknown grouping are said', async () => {
  answered([])
  render(<Page />)
  await screen.findByText('No servers yet')
  cleanup()
  queryClient.clear()
  groups = () => {
    throw new CallError('Too busy', { status: 422 })
  }
  render(<Page />)
  await screen.findByText('Too busy')
  answered(usual)
  await userEvent.click(screen.getByRole('button', { name: 'Try again' }))
  await heading('web')
  cleanup()
  render(<Page by="colour" />)
  expect((await screen.findByRole('alert')).textContent).toContain(
    "Servers can't be grouped by colour.",
  )
})
