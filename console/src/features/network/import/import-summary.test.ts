import { expect, test } from 'vitest'
import { summaryOf } from './import-summary.ts'

const row = (line: number, does: 'create' | 'update' | 'nothing') => ({ line, name: `n-${line}`, cidr: '10.0.0.0/24', does })

test('what the rows of an import do', () => {
  const all = summaryOf({ rows: [row(2, 'create'), row(3, 'create'), row(4, 'update'), row(5, 'nothing')], problems: [] })
  expect(all.text).toBe('Every row is right: 2 subnets to add, 1 subnet to change, 1 without a change.')
  expect([all.verb, all.done, all.changes]).toEqual(['Import 3 subnets', '2 subnets added, 1 subnet changed', 3])
  expect(summaryOf({ rows: [row(2, 'nothing')], problems: [] }).changes).toBe(0)
})

test('problems are counted, and the lines that they are in', () => {
  const { text, problems } = summaryOf({
    rows: [],
    problems: [
      { line: 2, column: 'cidr', message: 'CIDR is required' },
      { line: 2, column: 'name', message: 'taken' },
      { line: 9, column: null, message: 'too many cells' },
    ],
  })
  expect([problems, text]).toEqual([3, '3 problems in 2 lines. Nothing was written: correct the text and check it again.'])
})
