// @vitest-environment happy-dom
import { cleanup, fireEvent, render, screen } from '@testing-library/react'
import { afterEach, expect, test, vi } from 'vitest'
import RangeInputs from './RangeInputs.tsx'

afterEach(cleanup)

const onValue = vi.fn<(value: string) => void>()
function show(value: string) {
  onValue.mockClear()
  render(<RangeInputs label="CU" unit="CU" value={value} onValue={onValue} />)
  const [from, to] = [screen.getByLabelText('CU from'), screen.getByLabelText('CU to')]
  const type = (field: HTMLElement, text: string) =>
    fireEvent.change(field, { target: { value: text } })
  return {
    from: from as HTMLInputElement,
    to: to as HTMLInputElement,
    type,
    apply: () => fireEvent.click(screen.getByRole('button', { name: 'Apply' })),
  }
}

test('a range is applied with both ends, with one, or with none', () => {
  const { from, to, type, apply } = show('')
  type(from, '32')
  apply()
  type(to, '64')
  apply()
  type(from, '')
  apply()
  type(to, '')
  apply()
  expect(onValue.mock.calls.flat()).toEqual(['32..', '32..64', '..64', ''])
})

test('the fields show the range of the URL; a text that is no range is dropped', () => {
  const { from, to } = show('0.5..1.25')
  expect([from.value, to.value]).toEqual(['0.5', '1.25'])
  cleanup()
  expect(show('cheap').from.value).toBe('')
})

test('a range in the wrong order, or that is no number, is not applied and says why', () => {
  const { from, to, type, apply } = show('')
  for (const [least, most] of [
    ['64', '32'],
    ['-1', ''],
    ['1e400', ''],
    ['1,5', ''],
  ] as const) {
    type(from, least)
    type(to, most)
    apply()
    expect(screen.getByText('Enter decimal numbers, the smaller one first')).toBeTruthy()
  }
  expect(onValue).not.toHaveBeenCalled()
})
