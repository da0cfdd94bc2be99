// @vitest-environment happy-dom
import { cleanup, render, screen, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { act } from 'react'
import { afterEach, expect, test, vi } from 'vitest'
import { place } from '../../lib/router.ts'
import { Header } from './Header.tsx'
import { MobileMenu } from './MobileMenu.tsx'
import { Sidebar } from './Sidebar.tsx'

const entries = [
  { label: 'Servers', icon: 'server', path: '/infra/servers', current: false, n: 12 },
  {
    label: 'Section',
    icon: 'grip',
    current: true,
    submenu: [
      { label: 'First page', icon: 'overview', path: '/section/first' },
      { label: 'Second page', icon: 'overview', path: '/section/second' },
    ],
  },
  { label: 'Help', icon: 'help', href: 'https://docs.example.com', footer: true, current: false },
]
vi.mock('./use-menu.ts', () => ({ useMenu: () => entries }))
vi.mock('./Breadcrumbs.tsx', () => ({ Breadcrumbs: () => null }))
vi.mock('./RunningOperations.tsx', () => ({ RunningOperations: () => null }))
vi.mock('../search/commands.ts', () => ({
  paletteOpen: { set: () => undefined },
  useThemeAction: () => ({ label: 'Light theme' }),
}))
let user: { email: string; name: string } | null = null
vi.mock('../../api/session.ts', async (original) => ({
  ...(await original<object>()),
  useUser: () => user,
}))

afterEach(cleanup)

test('the sidebar shows footer entries at its foot above Log out, and a submenu in a second column', () => {
  render(<Sidebar />)
  const sections = within(screen.getByRole('navigation', { name: 'Sections' }))
  expect(sections.getAllByRole('link').map((link) => link.getAttribute('title'))).toEqual([
    'Servers',
    'Section',
  ])
  const foot = screen.getByRole('button', { name: 'Log out' }).parentElement!
  expect(within(foot).getByRole('link', { name: 'Help' }).getAttribute('href')).toBe(
    'https://docs.example.com',
  )
  const submenu = within(screen.getByRole('navigation', { name: 'Pages of the section' }))
  expect(submenu.getAllByRole('link').map((link) => link.getAttribute('href'))).toEqual([
    '/section/first',
    '/section/second',
  ])
})

test('the drawer lists the entries, opens a submenu with a back button, has Log out only there, and closes on navigation', async () => {
  render(<MobileMenu />)
  await userEvent.click(screen.getByRole('button', { name: 'Open menu' }))
  const drawer = await screen.findByRole('dialog', { name: 'Menu' })
  const menu = within(drawer)
  menu.getByRole('link', { name: 'First page' })
  menu.getByRole('button', { name: 'Log out' })
  await userEvent.click(menu.getByRole('button', { name: /^Section\s*, back to the menu$/ }))
  menu.getByRole('link', { name: /^Servers/ })
  expect(menu.queryByRole('button', { name: 'Log out' })).toBeNull()
  act(() => place.set((now) => ({ ...now, pathname: '/elsewhere' })))
  await vi.waitFor(() => expect(screen.queryByRole('dialog', { name: 'Menu' })).toBeNull())
})

test('the profile menu opens by a chevron, and shows Profile, the email, or "Loading..." until the email is known, and Log out', async () => {
  const { rerender } = render(<Header inPast={false} />)
  await userEvent.click(screen.getByRole('button', { name: 'Profile' }))
  const menu = await screen.findByRole('menu', { name: 'Profile' })
  within(menu).getByText('Profile')
  within(menu).getByText('Loading...')
  expect(within(menu).getAllByRole('menuitem').at(-1)?.textContent).toBe('Log out')
  user = { email: 'olga@example.com', name: 'Olga' }
  rerender(<Header inPast={false} />)
  within(menu).getByText('olga@example.com')
})
