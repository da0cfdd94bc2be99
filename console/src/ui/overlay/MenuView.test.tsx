// @vitest-environment happy-dom
import { act, cleanup, fireEvent, render, screen } from '@testing-library/react'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { MenuItem } from './Menu.tsx'
import MenuView from './MenuView.tsx'

const items: readonly MenuItem[] = [{ label: 'Delete' }, { label: 'Download' }, { label: 'Set for all', items: [{ label: 'Role' }] }, { label: 'Open' }]

beforeEach(() => {
  vi.useFakeTimers()
  const within = { current: null }
  render(<MenuView open label="Actions" items={items} align="end" onOpen={() => undefined} focusBack={() => undefined} within={within} />)
})
afterEach(() => {
  cleanup()
  vi.useRealTimers()
})

const item = (name: string) => screen.getByRole('menuitem', { name })
const wait = (ms: number): void => act(() => void vi.advanceTimersByTime(ms))
const type = (key: string) => {
  fireEvent.keyDown(document.activeElement ?? document.body, { key })
  wait(1)
}
const mouse = (x: number) => ({ pointerType: 'mouse', clientX: x, clientY: 50 })

test('typed letters select the item that begins with them, and are forgotten a second after the last one [S289]', () => {
  wait(0)
  act(() => item('Delete').focus())
  type('d')
  expect(document.activeElement).toBe(item('Download'))
  wait(900)
  // Within a second the letters form one word: no item begins with "do" followed by "s".
  type('o')
  expect(document.activeElement).toBe(item('Download'))
  wait(1_000)
  type('o')
  expect(document.activeElement).toBe(item('Open'))
})

test('a submenu opens after the pointer has rested on its item for 100 ms [S290]', () => {
  fireEvent.pointerMove(item('Set for all'), mouse(10))
  wait(99)
  expect(screen.queryByRole('menuitem', { name: 'Role' })).toBeNull()
  wait(1)
  item('Role')
})

test('on its way to an open submenu, the pointer may cross other items for 300 ms [S291]', () => {
  fireEvent.pointerMove(item('Set for all'), mouse(10))
  wait(100)
  const submenu = item('Role').closest<HTMLElement>('[role="menu"]')!
  submenu.dataset['side'] = 'right'
  submenu.getBoundingClientRect = () => new DOMRect(100, 0, 200, 200)
  const menu = item('Open').closest<HTMLElement>('[role="menu"]')!
  fireEvent.pointerMove(menu, mouse(20))
  fireEvent.pointerLeave(item('Set for all'), mouse(30))
  wait(299)
  fireEvent.pointerMove(item('Open'), mouse(60))
  expect(document.activeElement).not.toBe(item('Open'))
  wait(1)
  fireEvent.pointerMove(item('Open'), mouse(70))
  expect(document.activeElement).toBe(item('Open'))
})
