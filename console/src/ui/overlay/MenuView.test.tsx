// @vitest-environment happy-dom
import { act, cleanup, fireEvent, render, screen } from '@testing-library/react'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { MenuItem } from './Menu.tsx'
import MenuView from './MenuView.tsx'

const items: readonly MenuItem[] = [
  { label: 'Delete' },
  { label: 'Download' },
  { label: 'Set for all', items: [{ label: 'Role' }] },
  { label: 'Open' },
]

beforeEach(() => {
  vi.useFakeTimers()
  const within = { current: document.body.appendChild(document.createElement('button')) }
  render(
    <MenuView
      open
      label="Actions"
      items={items}
      align="end"
      onOpen={() => undefined}
      focusBack={() => undefined}
      within={within}
    />,
  )
})
afterEach(() => {
  cleanup()
  document.body.replaceChildren()
  vi.useRealTimers()
})

const item = (name: string) => screen.getByRole('menuitem', { name })
const wait = (ms: number): void => act(() => void vi.advanceTimersByTime(ms))
const type = (key: string) => fireEvent.keyDown(document.activeElement ?? document.body, { key })
const point = (name: string) => fireEvent.pointerMove(item(name), { pointerType: 'mouse' })

test('typed letters select the item that begins with them, and are forgotten a second after the last one', () => {
  act(() => item('Delete').focus())
  type('d')
  expect(document.activeElement).toBe(item('Download'))
  wait(1_000)
  // Within a second the letters form one word.
  type('o')
  expect(document.activeElement).toBe(item('Download'))
  wait(1_001)
  type('o')
  expect(document.activeElement).toBe(item('Open'))
})

test('a submenu opens after the pointer has rested on its item for 100 ms', () => {
  point('Set for all')
  wait(99)
  expect(screen.queryByRole('menuitem', { name: 'Role' })).toBeNull()
  wait(1)
  expect(item('Role').isConnected).toBe(true)
})

test('on its way to an open submenu, the pointer may cross other items for 300 ms', () => {
  point('Set for all')
  wait(100)
  point('Open')
  wait(299)
  point('Role')
  wait(1_000)
  expect(document.activeElement).toBe(item('Role'))
  point('Open')
  wait(300)
  expect(screen.queryByRole('menuitem', { name: 'Role' })).toBeNull()
})

test('a reason that several refused items have in common is said once, and each of them refers to it', () => {
  cleanup()
  const can = { ok: false, reason: 'Your role does not include clusters:write' } as const
  const show = (shown: readonly MenuItem[]) =>
    render(
      <MenuView
        open
        label="Change"
        items={shown}
        align="end"
        onOpen={() => undefined}
        focusBack={() => undefined}
        within={{ current: document.body.appendChild(document.createElement('button')) }}
      />,
    )
  show([{ label: 'Add servers', can }, { label: 'Open' }, { label: 'Remove servers', can }])
  const reason = screen.getByText(can.reason)
  for (const name of ['Add servers', 'Remove servers'])
    expect(item(name).getAttribute('aria-describedby')).toBe(reason.id)
  expect(item('Open').getAttribute('aria-describedby')).toBeNull()
  cleanup()
  // As for a viewer, whose role lacks two permissions.
  const other = { ok: false, reason: 'Your role does not include secrets:read' } as const
  show([
    { label: 'Rename', can },
    { label: 'Talosconfig', can: other },
    { label: 'Reboot', can },
  ])
  expect(screen.getAllByText(can.reason)).toHaveLength(1)
  expect(screen.getByRole('menuitem', { name: /^Talosconfig/ }).textContent).toContain(other.reason)
  cleanup()
  show([
    { label: 'Add servers', can },
    { label: 'Delete', can: { ok: false, reason: 'The cluster is being deleted' } },
  ])
  const said = (name: RegExp) => screen.getByRole('menuitem', { name }).textContent
  expect(said(/^Add servers/)).toContain(can.reason)
  expect(said(/^Delete/)).toContain('The cluster is being deleted')
})
