// @vitest-environment happy-dom
import { act, cleanup, render, screen, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import type { ReactNode } from 'react'
import { afterEach, expect, test, vi } from 'vitest'
import { columns, DataTable, type DataTableProps } from './DataTable.tsx'
import { listColumns } from './list-columns.tsx'
import { useSelection } from './selection.ts'

interface Row {
  id: string
  name: string
  cores: number
}
const rows: readonly Row[] = [
  { id: 'a', name: 'amber', cores: 8 },
  { id: 'b', name: 'brisk', cores: 16 },
  { id: 'c', name: 'calm', cores: 4 },
]
const cols = columns<Row>([
  { id: 'name', head: 'Name', sortable: true, fixed: true, cell: (r) => r.name },
  { id: 'cores', head: 'Cores', sortable: true, numeric: true, cell: (r) => r.cores },
])

function Example(props: Partial<DataTableProps<Row>>) {
  const selection = useSelection()
  return (
    <>
      <DataTable
        label="Servers"
        noun="server"
        rows={rows}
        columns={cols}
        rowKey={(r) => r.id}
        rowName={(r) => r.name}
        selection={selection}
        empty={<p>No servers yet</p>}
        {...props}
      />
      <output>{[...selection.keys].join(' ')}</output>
    </>
  )
}
const table = () => within(screen.getByRole('table', { name: 'Servers' }))
const selected = () => document.querySelector('output')?.textContent

afterEach(cleanup)

test('pressing a column header sorts the rows, a second press reverses the order, and the direction is announced', async () => {
  const onSort = vi.fn<(sort: string) => void>()
  const { rerender } = render(<Example sort="cores" onSort={onSort} />)
  await userEvent.click(table().getByRole('button', { name: /^Name/ }))
  expect(onSort).toHaveBeenLastCalledWith('name')
  await userEvent.click(table().getByRole('button', { name: /^Cores/ }))
  expect(onSort).toHaveBeenLastCalledWith('-cores')
  expect(table().getByRole('columnheader', { name: /Cores/ }).getAttribute('aria-sort')).toBe(
    'ascending',
  )
  rerender(<Example sort="-cores" onSort={onSort} />)
  expect(table().getByRole('columnheader', { name: /Cores/ }).getAttribute('aria-sort')).toBe(
    'descending',
  )
})

test('rows are selected one by one, as a range with Shift, or all at once', async () => {
  render(<Example />)
  const user = userEvent.setup()
  await user.click(table().getByRole('checkbox', { name: /amber/ }))
  expect(selected()).toBe('a')
  await user.keyboard('{Shift>}')
  await user.click(table().getByRole('checkbox', { name: /calm/ }))
  await user.keyboard('{/Shift}')
  expect(selected()).toBe('a b c')
  await user.click(table().getByRole('checkbox', { name: /Select all/ }))
  expect(selected()).toBe('')
})

test('the pointer or the focus on the button of a detail announces that the detail is about to open', async () => {
  const preload = vi.fn<(row: Row) => void>()
  render(<Example detail={(r) => <p>{r.cores} cores</p>} preloadDetail={preload} />)
  await userEvent.hover(table().getByText('amber'))
  expect(preload).not.toHaveBeenCalled()
  await userEvent.hover(table().getByRole('button', { name: 'Details of brisk' }))
  expect(preload).toHaveBeenLastCalledWith(rows[1])
  act(() => table().getByRole('button', { name: 'Details of calm' }).focus())
  expect(preload).toHaveBeenLastCalledWith(rows[2])
})

test("a disabled row gives the reason and can't be selected", async () => {
  render(<Example disabled={(r) => (r.id === 'b' ? 'It is being wiped' : null)} />)
  expect(table().getByRole('checkbox', { name: /brisk/ }).hasAttribute('disabled')).toBe(true)
  await userEvent.click(table().getByRole('checkbox', { name: /Select all/ }))
  expect(selected()).toBe('a c')
})

test('deselected columns are hidden, but fixed columns stay', () => {
  render(<Example shown={[]} />)
  expect(
    table()
      .getAllByRole('columnheader')
      .map((head) => head.textContent),
  ).toContain('Name')
  expect(table().queryByRole('columnheader', { name: /Cores/ })).toBeNull()
})

test('an empty list, a list without a match and a failed list each show a message with the next step', async () => {
  const [onReset, onRetry] = [vi.fn<() => void>(), vi.fn<() => void>()]
  const { rerender } = render(<Example rows={[]} />)
  expect(screen.getByText('No servers yet')).toBeTruthy()
  rerender(<Example rows={[]} filtered onReset={onReset} />)
  await userEvent.click(screen.getByRole('button', { name: 'Reset filters' }))
  expect(onReset).toHaveBeenCalledTimes(1)
  rerender(<Example rows={undefined} error={new Error('No answer')} onRetry={onRetry} />)
  expect(screen.getByText('No answer')).toBeTruthy()
  await userEvent.click(screen.getByRole('button', { name: 'Try again' }))
  expect(onRetry).toHaveBeenCalledTimes(1)
})

test('the detail of a row opens and closes below it', async () => {
  render(<Example detail={(r) => <p>Hardware of {r.name}</p>} />)
  await userEvent.click(screen.getByRole('button', { name: 'Details of brisk' }))
  expect(screen.getByText('Hardware of brisk')).toBeTruthy()
  await userEvent.click(screen.getByRole('button', { name: 'Details of brisk' }))
  expect(screen.queryByText('Hardware of brisk')).toBeNull()
})

test('a field that the API left out of a row is not shown as an empty one', () => {
  const list = {
    columns: {
      name: { label: 'Name', value: (row: { name: string }) => row.name },
      notes: { label: 'Notes', value: (row: { notes: string | null }) => row.notes },
    },
  }
  const [name, notes] = listColumns(list as never, {}) as unknown as {
    cell: (row: object, from: string) => ReactNode
  }[]
  render(
    <ul>
      {[
        { name: 'a', notes: null },
        { name: 'b', notes: null, left_out: ['notes'] },
      ].map((row) => (
        <li key={row.name}>
          {name!.cell(row, 'md')}: {notes!.cell(row, 'md')}
        </li>
      ))}
    </ul>,
  )
  expect(screen.getAllByRole('listitem').map((item) => item.textContent)).toEqual([
    'a: –',
    'b: Not in the list',
  ])
})
