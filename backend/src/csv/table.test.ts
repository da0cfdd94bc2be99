import { expect, test } from 'vitest'
import { cellsOf, readTable } from './table.ts'

const shape = { columns: ['server', 'rack', 'unit'], required: ['server'] } as const

test('columns at the end without a title and without a value in any row are left out', () => {
  const table = readTable('server,rack,unit,, \nweb-1,A-03,12,,\nweb-2,A-03\nweb-3,,,, ,\n', shape)
  if ('problems' in table) throw new Error(table.problems[0]!.message)
  expect(table.columns).toEqual(['server', 'rack', 'unit'])
  const rows = table.body.map((record) => cellsOf(record, table.columns, shape))
  expect(rows.map((row) => (row instanceof Map ? [...row.values()] : row))).toEqual([
    ['web-1', 'A-03', '12'],
    ['web-2', 'A-03', ''],
    ['web-3', '', ''],
  ])
})

test('a column without a title that has values is refused by its position', () => {
  expect(readTable('server,rack,unit,\nweb-1,A-03,12,\nweb-2,A-03,13,x\n', shape)).toEqual({
    problems: [{ line: 1, column: null, message: 'Column 4 has no title' }],
  })
  expect(readTable('server,,rack\nweb-1,,A-03\n', shape)).toEqual({
    problems: [{ line: 1, column: null, message: 'Column 2 has no title' }],
  })
})

test('a value behind the last column is refused with both numbers', () => {
  expect(cellsOf({ line: 2, cells: ['a', 'b', 'c', 'd'] }, shape.columns, shape)).toBe(
    'The header has 3 columns, this line has 4',
  )
})
