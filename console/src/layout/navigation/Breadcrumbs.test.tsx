// @vitest-environment happy-dom
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { act, cleanup, render, screen } from '@testing-library/react'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type PageView, shown } from '../../lib/router.ts'
import { routeAt } from '../../lib/routes.ts'
import { Breadcrumbs, PageCount } from './Breadcrumbs.tsx'

const id = '7c9e6679-7425-40de-944b-e07fc1f90001'
let client: QueryClient
beforeEach(() => {
  client = new QueryClient()
  render(
    <QueryClientProvider client={client}>
      <Breadcrumbs />
      <PageCount n={12} />
    </QueryClientProvider>,
  )
})
afterEach(() => {
  cleanup()
  shown.set(null)
})

const go = (pathname: string, state: 'ready' | 'pending' = 'ready') =>
  act(() =>
    shown.set({
      pathname,
      search: {},
      match: routeAt(pathname),
      ...(state === 'ready' ? { state, Page: (() => null) as PageView } : { state }),
    }),
  )
const links = () =>
  screen
    .getAllByRole('link')
    .map((link) => [link.getAttribute('aria-label') ?? link.textContent, link.getAttribute('href')])
const last = () => document.querySelector('[aria-current="page"]')?.textContent

test('a page with one crumb has it as heading, with the title from the route; while a page loads, nothing is shown', () => {
  go('/infra/servers/prepare-image', 'pending')
  expect(document.body.textContent).toBe('')
  go('/infra/servers')
  expect(screen.getByRole('heading', { level: 1 }).textContent).toBe('Servers12')
  expect(document.title).toBe('Servers · Steelyard')
  expect(screen.queryByRole('link')).toBeNull()
})

test('a page with several crumbs has a back arrow and links to every page above it and to itself', () => {
  client.setQueryData(['serverGet', { params: { id } }], { name: 'amber-falcon-204' })
  go(`/infra/servers/${id}/patches/p1`)
  expect(links()).toEqual([
    ['Back', `/infra/servers/${id}`],
    ['Servers', '/infra/servers'],
    ['amber-falcon-204', `/infra/servers/${id}`],
    ['Edit Patch p1', `/infra/servers/${id}/patches/p1`],
  ])
  expect(last()).toBe('Edit Patch p1')
  expect(screen.getByRole('navigation', { name: 'Breadcrumb' }).textContent).toBe(
    'Servers›amber-falcon-204›Edit Patch p1',
  )
})

test("a server's crumb is its name, at once if a list has it, and never the id while the server is being fetched", () => {
  go(`/infra/servers/${id}`)
  expect([last(), document.title]).toEqual(['Loading…', 'Steelyard'])
  act(
    () =>
      void client.setQueryData(['servers', {}], {
        items: [{ id, name: 'amber-falcon-204' }],
        total: 1,
      }),
  )
  expect([last(), document.title]).toEqual(['amber-falcon-204', 'amber-falcon-204 · Steelyard'])
  act(
    () => void client.setQueryData(['serverGet', { params: { id } }], { name: 'brisk-heron-077' }),
  )
  expect(last()).toBe('brisk-heron-077')
})

test("the crumb of a server without a name, or of a server that can't be fetched, is its id", async () => {
  go(`/infra/servers/${id}`)
  await act(() =>
    client.prefetchQuery({
      queryKey: ['serverGet', { params: { id } }],
      queryFn: () => Promise.reject(new Error('gone')),
      retry: false,
    }),
  )
  expect(last()).toBe(id)
  act(() => void client.setQueryData(['serverGet', { params: { id } }], { name: '' }))
  expect(last()).toBe(id)
})
