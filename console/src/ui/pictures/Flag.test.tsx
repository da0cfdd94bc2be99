// @vitest-environment happy-dom
import { act, cleanup, render, screen } from '@testing-library/react'
import { afterEach, expect, test, vi } from 'vitest'
import { Flag } from './Flag.tsx'

afterEach(() => {
  cleanup()
  vi.unstubAllGlobals()
})

test('a flag has the name of its country as soon as the page has been idle, and its code until then', () => {
  const whenIdle: (() => void)[] = []
  vi.stubGlobal('requestIdleCallback', (what: () => void) => whenIdle.push(what))
  render(<Flag code="PL" />)
  expect(screen.getByAltText('PL').title).toBe('PL')
  act(() => whenIdle.forEach((what) => what()))
  expect(screen.getByAltText('Poland').title).toBe('Poland')
  render(<Flag code="DE" />)
  screen.getByAltText('Germany')
})
