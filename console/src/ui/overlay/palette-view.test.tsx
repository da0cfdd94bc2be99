// @vitest-environment happy-dom
import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { useState } from 'react'
import { afterEach, expect, test, vi } from 'vitest'
import { CommandPalette } from './CommandPalette.tsx'

afterEach(cleanup)

function Page({ run }: { run: () => void }) {
  const [open, setOpen] = useState(false)
  const [search, setSearch] = useState('')
  const groups = [{ heading: 'Do', actions: [{ label: 'Rename', run }, { label: 'Remove' }] }]
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        Search
      </button>
      <CommandPalette
        {...{ open, search, groups }}
        onClose={() => setOpen(false)}
        onSearch={setSearch}
        onGo={() => undefined}
      />
    </>
  )
}

test('the palette takes the focus, keeps Tab inside, and returns the focus when Escape closes it', async () => {
  render(<Page run={() => undefined} />)
  const button = screen.getByRole('button', { name: 'Search' })
  await userEvent.click(button)
  const field = screen.getByRole('combobox', { name: 'Go to or do anything' })
  expect(document.activeElement).toBe(field)
  await userEvent.tab()
  expect(document.activeElement).toBe(field)
  await userEvent.keyboard('{Escape}')
  expect(screen.queryByRole('dialog')).toBeNull()
  expect(document.activeElement).toBe(button)
})

test('a click beside the palette closes it, and Enter runs the selected entry', async () => {
  const run = vi.fn<() => void>()
  render(<Page run={run} />)
  await userEvent.click(screen.getByRole('button', { name: 'Search' }))
  await userEvent.click(
    screen.getByRole('dialog', { name: 'Search and commands' }).previousElementSibling!,
  )
  expect(screen.queryByRole('dialog')).toBeNull()
  await userEvent.click(screen.getByRole('button', { name: 'Search' }))
  await userEvent.keyboard('ren{Enter}')
  expect(run).toHaveBeenCalledTimes(1)
  expect(screen.queryByRole('dialog')).toBeNull()
})

test('a long palette opens with its first entries, the others follow, and an arrow key reaches the last entry at once', async () => {
  const actions = Array.from({ length: 30 }, (_, i) => ({ label: `Entry ${i + 1}` }))
  const props = {
    open: true,
    search: '',
    groups: [{ heading: 'Do', actions }],
    onClose: vi.fn<() => void>(),
  }
  const palette = <CommandPalette {...props} onSearch={() => undefined} onGo={() => undefined} />
  const entries = () => screen.getAllByRole('option').length
  const { unmount } = render(palette)
  expect(entries()).toBe(12)
  await waitFor(() => expect(entries()).toBe(30))
  unmount()
  render(palette)
  fireEvent.keyDown(screen.getByRole('combobox'), { key: 'ArrowUp' })
  expect(screen.getByRole('option', { selected: true }).textContent).toBe('Entry 30')
})
