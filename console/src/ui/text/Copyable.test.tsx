// @vitest-environment happy-dom
import { act, cleanup, render, screen } from '@testing-library/react'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Copyable } from './Copyable.tsx'

const copied: string[] = []
beforeEach(() => {
  vi.useFakeTimers()
  copied.length = 0
  vi.spyOn(navigator.clipboard, 'writeText').mockImplementation(
    async (text) => void copied.push(text),
  )
})
afterEach(() => {
  cleanup()
  vi.restoreAllMocks()
  vi.useRealTimers()
})

test('a click copies the whole value, and "Copied" shows for 550 ms', async () => {
  render(<Copyable value="0x71C7656EC7ab88b098defB751B7401B5f6d8976F" shown="0x71C…976F" />)
  await act(async () => screen.getByRole('button').click())
  expect(copied).toEqual(['0x71C7656EC7ab88b098defB751B7401B5f6d8976F'])
  screen.getByText('Copied')
  act(() => void vi.advanceTimersByTime(549))
  screen.getByText('Copied')
  act(() => void vi.advanceTimersByTime(1))
  expect(screen.queryByText('Copied')).toBeNull()
})
