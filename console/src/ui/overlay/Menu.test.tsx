// @vitest-environment happy-dom
import { cleanup, render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, expect, test, vi } from 'vitest'
import { no } from '#contract/rule.ts'
import { Menu, type MenuItem } from './Menu.tsx'

afterEach(cleanup)

const run = vi.fn<(what: string) => void>()
const items: readonly MenuItem[] = [
  { heading: 'Server' },
  { label: 'Rename', run: () => run('rename') },
  { label: 'Reboot', can: no('An operation runs'), run: () => run('reboot') },
  'rule',
  { label: 'Wide rows', checked: true, stay: true, run: () => run('wide') },
  {
    label: 'Disks',
    items: [
      { label: 'sda', run: () => run('sda') },
      { label: 'sdb', run: () => run('sdb') },
    ],
  },
  { label: 'Open', to: '#open' },
]

/** Shows the menu's button and opens the menu with it. */
async function opened(how: 'click' | 'keyboard') {
  run.mockClear()
  render(
    <main>
      <Menu label="Actions" trigger={<button type="button">More</button>} items={items} />
      <button type="button">Other</button>
    </main>,
  )
  const button = screen.getByRole('button', { name: 'More' })
  // The simulated browser matches :focus-visible after a click, too.
  vi.spyOn(button.parentElement!, 'querySelector').mockImplementation((selector) =>
    selector === ':focus-visible' && how === 'click' ? null : button,
  )
  if (how === 'click') await userEvent.click(button)
  else {
    button.focus()
    await userEvent.keyboard('{ArrowDown}')
  }
  return { button, menu: await screen.findByRole('menu', { name: 'Actions' }) }
}
const focused = () => document.activeElement?.textContent

test('a click opens the menu without choosing an item, and Escape closes the menu and returns the focus', async () => {
  const { button, menu } = await opened('click')
  expect(document.activeElement).toBe(menu)
  expect(button.getAttribute('aria-expanded')).toBe('true')
  await userEvent.keyboard('{Escape}')
  expect(screen.queryByRole('menu')).toBeNull()
  expect(document.activeElement).toBe(button)
})

test('the keyboard opens the menu at its first item', async () => {
  await opened('keyboard')
  expect(focused()).toBe('Rename')
})

test('arrow keys, Home, End and letters move between items, also refused ones, and Enter runs an item', async () => {
  const { button } = await opened('click')
  const keys = async (text: string) => {
    await userEvent.keyboard(text)
    return focused()
  }
  expect(await keys('{ArrowDown}')).toBe('Rename')
  expect(await keys('{ArrowUp}')).toBe('Open')
  expect(await keys('{ArrowDown}')).toBe('Rename')
  expect(await keys('{End}')).toBe('Open')
  expect(await keys('{Home}')).toBe('Rename')
  expect(await keys('reb')).toBe('RebootAn operation runs')
  await userEvent.keyboard('{Enter}')
  expect(run).not.toHaveBeenCalled()
  expect(screen.getByRole('menuitem', { name: /Reboot/ }).getAttribute('aria-disabled')).toBe(
    'true',
  )
  await userEvent.keyboard('{Home}{Enter}')
  expect(run.mock.calls).toEqual([['rename']])
  expect(screen.queryByRole('menu')).toBeNull()
  expect(document.activeElement).toBe(button)
})

test('a letter that is typed again goes on to the next item that begins with it', async () => {
  await opened('click')
  await userEvent.keyboard('r')
  expect(focused()).toBe('Rename')
  await userEvent.keyboard('r')
  expect(focused()).toBe('RebootAn operation runs')
})

test('a checkbox is changed without closing the menu', async () => {
  await opened('click')
  const item = screen.getByRole('menuitemcheckbox', { name: 'Wide rows' })
  expect(item.getAttribute('aria-checked')).toBe('true')
  await userEvent.click(item)
  expect(run.mock.calls).toEqual([['wide']])
  expect(screen.getByRole('menu', { name: 'Actions' })).toBeTruthy()
})

test('a submenu opens with the right arrow key and closes with the left one', async () => {
  await opened('click')
  await userEvent.keyboard('{End}{ArrowUp}{ArrowRight}')
  expect(focused()).toBe('sda')
  await userEvent.keyboard('{ArrowLeft}')
  expect(focused()).toBe('Disks')
  expect(screen.getAllByRole('menu')).toHaveLength(1)
  await userEvent.keyboard('{Enter}{ArrowDown}{Enter}')
  expect(run.mock.calls).toEqual([['sdb']])
  expect(screen.queryByRole('menu')).toBeNull()
})

test('a click outside closes the menu and does nothing else', async () => {
  await opened('click')
  const other = vi.fn<() => void>()
  screen.getByRole('button', { name: 'Other' }).addEventListener('click', other)
  await userEvent.click(screen.getByRole('button', { name: 'Other' }))
  expect(screen.queryByRole('menu')).toBeNull()
  expect(other).not.toHaveBeenCalled()
  await userEvent.click(screen.getByRole('button', { name: 'Other' }))
  expect(other).toHaveBeenCalledTimes(1)
})

test('a second click on the button closes the menu', async () => {
  const { button } = await opened('click')
  await userEvent.click(button)
  expect(screen.queryByRole('menu')).toBeNull()
})
