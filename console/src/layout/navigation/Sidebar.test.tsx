// @vitest-environment happy-dom
import { QueryClientProvider } from '@tanstack/react-query'
import { act, cleanup, render, screen, within } from '@testing-library/react'
import { afterEach, expect, test, vi } from 'vitest'

vi.mock(import('../../api/session.ts'), async (original) => ({
  ...(await original()),
  heldScopes: () => ['marketplace:read'] as never,
}))

afterEach(() => {
  cleanup()
  vi.unstubAllEnvs()
})

/** The sidebar of a build with this setting, on the page of a path. */
async function sidebar(setting: string, pathname: string) {
  vi.stubEnv('VITE_MENU_MARKETPLACE', setting)
  vi.resetModules()
  const { Sidebar } = await import('./Sidebar.tsx')
  const { place } = await import('../../lib/router.ts')
  const { queryClient } = await import('../../api/query.ts')
  queryClient.setDefaultOptions({ queries: { enabled: false } })
  act(() => place.set({ ...place.get(), pathname }))
  render(
    <QueryClientProvider client={queryClient}>
      <Sidebar />
    </QueryClientProvider>,
  )
}
const linksIn = (name: string) =>
  within(screen.getByRole('navigation', { name }))
    .getAllByRole('link')
    .map((link) => [link.textContent, link.getAttribute('href')])

test('the marketplace, if the build adds it, shows its one page in a second column', async () => {
  await sidebar('1', '/marketplace/ccs')
  expect(linksIn('Sections').map(([label]) => label)).toEqual([
    'Datacenters',
    'Clusters',
    'Servers',
    'Network',
    'Marketplace',
  ])
  expect(linksIn('Pages of the section')).toEqual([['CCs', '/marketplace/ccs']])
  expect(screen.getByRole('link', { name: 'CCs' }).getAttribute('aria-current')).toBe('page')
})

test('the default menu has four entries and no second column, also on the pages of the marketplace', async () => {
  await sidebar('', '/marketplace/ccs')
  expect(linksIn('Sections').map(([label]) => label)).toEqual([
    'Datacenters',
    'Clusters',
    'Servers',
    'Network',
  ])
  expect(screen.queryByRole('navigation', { name: 'Pages of the section' })).toBeNull()
})
