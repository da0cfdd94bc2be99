import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { registerRows, unshown } from './specification.mjs'

const statements = 299
const rows = registerRows(readFileSync('docs/specification.md', 'utf8'))

test('docs/specification.md has one row for each statement, in order', () => {
  expect(rows.map(({ number }) => number)).toEqual(
    Array.from({ length: statements }, (_, i) => `S${String(i + 1).padStart(3, '0')}`),
  )
})

test('every statement is shown by a test or decided, and names where it is built', () => {
  expect(
    rows
      .filter(({ tests, isDecided }) => tests.length === 0 && !isDecided)
      .map(({ number }) => number),
  ).toEqual([])
  expect(
    rows.flatMap(({ number, where }) =>
      where.length === 0 || !where.every((path) => existsSync(path))
        ? [`${number}: ${where.join()}`]
        : [],
    ),
  ).toEqual([])
})

test('every test that a row names is in its file', () => {
  const texts = new Map<string, string>()
  const textOf = (file: string): string => {
    const known =
      texts.get(file) ??
      (existsSync(file) ? readFileSync(file, 'utf8').replaceAll(/\\(['"`])/g, '$1') : '')
    texts.set(file, known)
    return known
  }
  const missing = rows.flatMap(({ number, tests }) =>
    tests.flatMap(({ file, title }) =>
      ['"', "'", '`'].some((quote) => textOf(file).includes(quote + title + quote))
        ? []
        : [`${number}: ${file}: ${title}`],
    ),
  )
  expect(missing).toEqual([])
})

test('a statement counts as shown only if a test that it names has passed, or if it is decided', () => {
  const table = registerRows(
    [
      '| S001 | a \\| b | `contract/` | `a.test.ts`: it works |',
      '| S002 | c | `contract/` | decision, §1: “Otherwise.” |',
      '| S003 | d | `contract/` | `a.test.ts`: it works<br>`b.e2e.ts`: a \\| b<br>decision, §10: “Both.” |',
      '| S004 | e | `contract/` | – |',
      '| S005 | f | `contract/` | decision, § |',
      '| S006 | g | `contract/` | `a.test.ts`: without %s it is refused |',
    ].join('\n'),
  )
  expect(table[0]).toEqual({
    number: 'S001',
    statement: 'a \\| b',
    where: ['contract/'],
    tests: [{ file: 'a.test.ts', title: 'it works' }],
    isDecided: false,
  })
  expect(table[2]).toMatchObject({
    tests: [
      { file: 'a.test.ts', title: 'it works' },
      { file: 'b.e2e.ts', title: 'a | b' },
    ],
    isDecided: true,
  })
  expect(unshown(table, [{ file: 'b.test.ts', title: 'it works' }])).toEqual([
    'S001',
    'S004',
    'S005',
    'S006',
  ])
  const passed = [
    { file: 'a.test.ts', title: 'it works' },
    { file: 'a.test.ts', title: 'without a name it is refused' },
  ]
  expect(unshown(table, passed)).toEqual(['S004', 'S005'])
})
