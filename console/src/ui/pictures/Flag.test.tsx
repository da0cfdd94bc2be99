// @vitest-environment happy-dom
import { act, cleanup, render, screen } from '@testing-library/react'
import { afterEach, expect, test, vi } from 'vitest'
import { Flag } from './Flag.tsx'

afterEach(() => {
  cleanup()
  vi.unstubAllGlobals()
})

test('the name of a flag is the code of the country until the page is idle, then the name of the country', () => {
  const whenIdle: (() => void)[] = []
  vi.stubGlobal('requestIdleCallback', (what: () => void) => whenIdle.push(what))
  render(<Flag code="PL" />)
  render(<Flag code="CZ" />)
  expect(whenIdle).toHaveLength(1)
  expect(screen.getByAltText('PL').title).toBe('PL')
  act(() => whenIdle.forEach((what) => what()))
  expect(screen.getByAltText('Poland').title).toBe('Poland')
  render(<Flag code="DE" />)
  screen.getByAltText('Germany')
})
