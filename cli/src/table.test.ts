import { describe, expect, test } from 'vitest'
import { type Column, facts, table } from './table.ts'
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

describe('on a narrow terminal', () => {
  interface Server {
    name: string
    status: string
    reason: string
    disk: string
  }
  const servers: readonly Server[] = [
    {
      name: `rack-3-${'x'.repeat(20)}`,
      status: 'failed',
      reason: 'No answer '.repeat(9),
      disk: '1 TB',
    },
  ]
  const declared: readonly Column<Server>[] = [
    { title: 'NAME', text: (s) => s.name },
    { title: 'STATUS', text: (s) => s.status },
    { title: 'DISK', text: (s) => s.disk, right: true, minor: true },
    { title: 'REASON', text: (s) => s.reason },
  ]
  const at = (columns: number | null, layout?: { headers: boolean; wide: boolean }) =>
    table({ ...plain, columns, ...(layout && { layout }) }, servers, declared, 'None').split('\n')

  test('sentences are cut first, and names stay whole', () => {
    const [head, row, after] = at(70)
    expect(head).toMatch(/^NAME +STATUS +DISK +REASON$/)
    expect(row).toContain(servers[0]!.name)
    expect([widthOf(row!), row!.endsWith('…'), after]).toEqual([70, true, ''])
  })

  test('minor columns are left out first, then those on the right, and a line names them', () => {
    expect(at(50).map((line) => line.trimEnd())).toEqual([
      'NAME                         STATUS  REASON',
      `${servers[0]!.name}  failed  No answer No…`,
      'Not shown: DISK (-o wide)',
      '',
    ])
    expect(at(20)).toEqual([
      'NAME',
      servers[0]!.name,
      'Not shown: STATUS, DISK, REASON (-o wide)',
      '',
    ])
  })

  test('nothing is cut or left out in a pipe, or with -o wide', () => {
    expect(at(20, { headers: true, wide: true })).toEqual(at(null))
    expect(at(null)[1]).toContain(servers[0]!.reason.trimEnd())
  })

  test('without headers there are only rows', () => {
    expect(at(50, { headers: false, wide: false })).toEqual([
      expect.stringMatching(/^rack-3-x+ +failed +No answer/),
      '',
    ])
  })
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
