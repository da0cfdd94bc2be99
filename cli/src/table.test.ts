import { expect, test } from 'vitest'
import { type Column, facts, fit, table } from './table.ts'
import { widthOf } from './text.ts'

interface Row {
  name: string
  size: number
}
const columns: readonly Column<Row>[] = [
  { title: 'NAME', text: (r) => r.name, colour: (r) => (r.size > 9 ? 'red' : null) },
  { title: 'SIZE', text: (r) => String(r.size), right: true },
]
const plain = { columns: null, colour: false } as Parameters<typeof table>[0]

test('columns are aligned even after wide characters', () => {
  expect(
    table(
      plain,
      [
        { name: '東京', size: 5 },
        { name: 'abc', size: 12 },
      ],
      columns,
      'None',
    ),
  ).toBe('NAME  SIZE\n東京     5\nabc     12\n')
})

test('colours appear only on a terminal and do not change the alignment', () => {
  const text = table({ ...plain, colour: true }, [{ name: 'x', size: 10 }], columns, 'None')
  expect(text).toContain('\u001b[31mx\u001b[0m')
  // oxlint-disable-next-line no-control-regex
  expect(text.replaceAll(/\u001b\[\d+m/g, '')).toBe('NAME  SIZE\nx       10\n')
})

test('the widest column shrinks to fit a terminal, and nothing is truncated in a pipe', () => {
  const rows = [{ name: 'a'.repeat(60), size: 1 }]
  const lines = table({ ...plain, columns: 30 }, rows, columns, 'None').split('\n')
  expect(Math.max(...lines.map(widthOf))).toBe(30)
  expect(lines[1]).toContain('…')
  expect(table(plain, rows, columns, 'None')).toContain('a'.repeat(60))
})

test('no column is narrower than its title', () => {
  expect(fit([40, 40], [12, 3], 10)).toEqual([12, 6])
})

test('a name with a line break stays on one row', () => {
  expect(
    table(plain, [{ name: 'a\nb\u001b[2J', size: 1 }], columns, 'None').split('\n'),
  ).toHaveLength(3)
})

test('an empty table prints a message instead of rows', () => {
  expect(table(plain, [], columns, 'No servers')).toBe('No servers\n')
})

test('a list of facts omits unknown values', () => {
  expect(
    facts(plain, [
      ['Name', 'x'],
      ['VLAN', null],
      ['Weight', 0],
    ]),
  ).toBe('Name    x\nWeight  0\n')
})
