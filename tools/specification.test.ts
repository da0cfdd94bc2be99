import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { numbersIn, registerRows, unshown } from './specification.mjs'

const statements = 299
const rows = registerRows(readFileSync('docs/specification.md', 'utf8'))

/** The numbers in the titles of each test file. */
const numbersOf = new Map(
  execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { encoding: 'utf8' })
    .split('\n')
    .filter((file) => /\.(?:test\.tsx?|e2e\.ts)$/.test(file) && file !== 'tools/specification.test.ts' && existsSync(file))
    .map((file) => {
      const titles = [...readFileSync(file, 'utf8').matchAll(/(?<=['"`])[^\n]*\[S\d{3}(?:, S\d{3})*\](?=['"`])/g)].map(([title]) => title)
      return [file, new Set(titles.flatMap(numbersIn))] as const
    })
    .filter(([, numbers]) => numbers.size > 0),
)

test('docs/specification.md has one row for each statement, in order', () => {
  expect(rows.map(({ number }) => number)).toEqual(Array.from({ length: statements }, (_, i) => `S${String(i + 1).padStart(3, '0')}`))
})

test('every statement is shown by a test or decided, and names where it is built', () => {
  expect(rows.filter(({ tests, isDecided }) => tests.length === 0 && !isDecided).map(({ number }) => number)).toEqual([])
  expect(rows.flatMap(({ number, where }) => (where.length === 0 || !where.every((path) => existsSync(path)) ? [`${number}: ${where.join()}`] : []))).toEqual(
    [],
  )
})

test('the rows name exactly the test files whose titles have their number', () => {
  const named = rows.flatMap(({ number, tests }) => tests.map((file) => `${number} ${file}`))
  const titled = [...numbersOf].flatMap(([file, numbers]) => [...numbers].map((number) => `${number} ${file}`))
  expect(named.filter((one) => !titled.includes(one))).toEqual([])
  expect(titled.filter((one) => !named.includes(one))).toEqual([])
})

test('a statement counts as shown only if a test with its number has passed, or if it is decided', () => {
  const table = registerRows(
    [
      '| S001 | a \\| b | `contract/` | `a.test.ts` |',
      '| S002 | c | `contract/` | decision, §1: “Otherwise.” |',
      '| S003 | d | `contract/` | `a.test.ts`<br>`b.e2e.ts`<br>decision, §10: “Both.” |',
      '| S004 | e | `contract/` | – |',
      '| S005 | f | `contract/` | decision, § |',
    ].join('\n'),
  )
  expect(table[0]).toEqual({ number: 'S001', statement: 'a \\| b', where: ['contract/'], tests: ['a.test.ts'], isDecided: false })
  expect(table[2]).toMatchObject({ tests: ['a.test.ts', 'b.e2e.ts'], isDecided: true })
  expect(unshown(table, ['something else'])).toEqual(['S001', 'S004', 'S005'])
  expect(unshown(table, ['it works [S001, S004]', 'S005 is not at the end [S005] here'])).toEqual(['S005'])
})
