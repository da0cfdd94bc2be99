// @vitest-environment happy-dom
import { act, cleanup, fireEvent, render, screen } from '@testing-library/react'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Head } from '../table/TableHead.tsx'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => {
  cleanup()
  vi.useRealTimers()
})

test('the tooltip of a help icon opens without a delay', () => {
  const help = "Time of the last answer from this server's Talos API"
  const column = { id: 'contact', head: 'Last Talos connection', help, cell: () => 'now' }
  render(
    <table>
      <thead>
        <tr>
          <Head column={column} help sort={undefined} onSort={undefined} />
        </tr>
      </thead>
    </table>,
  )
  // happy-dom has no top layer.
  HTMLElement.prototype.showPopover = () => undefined
  fireEvent.pointerEnter(screen.getByRole('button', { name: help }), { pointerType: 'mouse' })
  act(() => void vi.advanceTimersByTime(0))
  expect(screen.getByRole('tooltip').textContent).toBe(help)
})
