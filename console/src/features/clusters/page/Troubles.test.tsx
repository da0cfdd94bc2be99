// @vitest-environment happy-dom
import { cleanup, render, screen } from '@testing-library/react'
import { afterEach, expect, test } from 'vitest'
import { Troubles } from './Troubles.tsx'

afterEach(cleanup)

const again = /Steelyard tries again by itself/
const timeout = { node_id: null, message: 'The IP subnets cannot be applied', retried: true }
const halted = { node_id: null, message: 'The change cannot go on', retried: false }

test('it says that Steelyard tries again only of what it does try again', () => {
  const { rerender } = render(<Troubles troubles={[timeout]} />)
  screen.getByText(again)
  rerender(<Troubles troubles={[halted]} />)
  screen.getByText(/The change cannot go on/)
  expect(screen.queryByText(again)).toBeNull()
  rerender(<Troubles troubles={[halted, timeout]} />)
  expect(screen.getByText(again).textContent).toContain(timeout.message)
})
