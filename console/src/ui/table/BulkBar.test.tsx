// @vitest-environment happy-dom
import { act, cleanup, render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { useState } from 'react'
import { afterEach, expect, test, vi } from 'vitest'
import BulkBar from './BulkBar.tsx'
import { useSelection } from './selection.ts'

const raised = vi.hoisted(() => [] as string[])
vi.mock('../feedback/ToastView.tsx', () => ({
  raise: (_tone: string, text: string) => raised.push(text),
  takeOff: () => undefined,
}))

afterEach(() => {
  cleanup()
  raised.length = 0
})

/** A list of 5 matches of which one is chosen. `read` reads the keys of all. */
function List({ read }: { read: () => Promise<readonly string[]> }) {
  const selection = useSelection()
  const [matching, setMatching] = useState(5)
  return (
    <>
      <p>{selection.size} chosen</p>
      <button onClick={() => selection.set(['a'])}>Choose one</button>
      <button onClick={() => setMatching(4)}>Filter</button>
      {selection.size > 0 && (
        <BulkBar {...{ selection, matching }} actions={[]} onSelectMatching={read} />
      )}
    </>
  )
}
const all = ['a', 'b', 'c', 'd', 'e']
const press = (name: string) => userEvent.click(screen.getByRole('button', { name }))

test('all matches are read once, however often the button is pressed', async () => {
  const reads = vi.fn<() => Promise<string[]>>(() => Promise.resolve(all))
  render(<List read={reads} />)
  await press('Choose one')
  await userEvent.dblClick(screen.getByRole('button', { name: 'Select all 5' }))
  await screen.findByText('5 chosen')
  expect(reads).toHaveBeenCalledTimes(1)
})

test('that the matches could not be read is said, and the selection stays', async () => {
  render(<List read={() => Promise.reject(new Error('The database is away'))} />)
  await press('Choose one')
  await press('Select all 5')
  await vi.waitUntil(() => raised.length > 0)
  expect(raised).toEqual(['Not all could be selected: The database is away'])
  expect(screen.getByText('1 chosen')).toBeTruthy()
})

test.each([
  ['Clear selection', []],
  ['Filter', ['The list has changed meanwhile: select all again']],
])('matches that arrive after "%s" are not selected', async (name, said) => {
  const { promise, resolve } = Promise.withResolvers<string[]>()
  render(<List read={() => promise} />)
  await press('Choose one')
  await press('Select all 5')
  await press(name)
  await act(async () => resolve(all))
  await vi.waitUntil(() => raised.length === said.length)
  expect(raised).toEqual(said)
  expect(screen.queryByText('5 chosen')).toBeNull()
})
