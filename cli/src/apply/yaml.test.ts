import { expect, test } from 'vitest'
import { longestDocument, readYaml, splitDocuments } from './yaml.ts'
import { processorMs } from '../../../tools/testing/processor-time.ts'

const values = (text: string) =>
  [...splitDocuments(text)].map(({ text: one, before }) => {
    const reading = readYaml(one, before)
    return reading.ok ? reading.document.value : reading.problems
  })
const problem = (text: string) => {
  const [first] = values(text) as [{ line: number; message: string }[]]
  return first.map(({ line, message }) => `${line}: ${message}`)
}

test('documents are split at their markers, and documents without content are left out', () => {
  expect(values('# a comment\n---\na: 1\n---\n# nothing\n---\nb: |\n  ---\n  text\n...\n')).toEqual(
    [{ a: 1 }, { b: '---\ntext\n' }],
  )
  expect(values('a: 1\r\n---\r\nb: 2\r\n')).toEqual([{ a: 1 }, { b: 2 }])
  expect(values('--- {a: 1}\n--- # none\n')).toEqual([{ a: 1 }])
})

test('lines are those of the file', () => {
  const [, second] = [...splitDocuments('a: 1\n---\n\nkind: x\nlist:\n  - one: 1\n  - two: 2\n')]
  const reading = readYaml(second!.text, second!.before)
  if (!reading.ok) throw new Error('not read')
  const { line, lineOf } = reading.document
  expect([
    line,
    lineOf(['kind']),
    lineOf(['list', 1, 'two']),
    lineOf(['list', 5]),
    lineOf(['none']),
    lineOf(['list', 0], 'one'),
  ]).toEqual([4, 4, 7, 5, 4, 6])
})

test.each([
  ['a: 1\nb: [1, 2', /^2: /],
  ['a: 1\na: 2\n', /^2: a is given twice$/],
  ['a: &x 1\n', /^1: An anchor is not allowed here/],
  ['a:\n  b: *x\n', /Unresolved alias|An alias is not allowed here/],
  ['a: !secret b\n', /^1: The tag !secret is not allowed here$/],
  ['? [a]\n: 1\n', /^1: A key must be text$/],
  ['1: a\n', /^1: A key must be text$/],
])('%j is refused with its line', (text, message) => {
  expect(problem(text).join('\n')).toMatch(message)
})

test('aliases that multiply a text, and a text that contains itself, are refused before they are expanded', () => {
  const bomb = [
    'a: &a [x, x]',
    ...Array.from(
      { length: 40 },
      (_, i) => `b${i}: &b${i} [*${i === 0 ? 'a' : `b${i - 1}`}, *${i === 0 ? 'a' : `b${i - 1}`}]`,
    ),
  ].join('\n')
  expect(problem(bomb)[0]).toBe('1: An anchor is not allowed here: remove &a')
  expect(problem('a: &a [*a]\n').join()).toMatch(/anchor|alias/i)
})

test('a document that is too long or nested too deeply is refused, and many keys take linear time', async () => {
  expect(problem(`a: ${'x'.repeat(longestDocument)}`)).toEqual(['1: A document has at most 2 MiB'])
  expect(problem(`a: ${'['.repeat(100_000)}`).join()).not.toBe('')
  const keys = Array.from({ length: 20_000 }, (_, i) => `k${i}: 1`).join('\n')
  let read: object = {}
  const usedMs = await processorMs(() => (read = values(keys)[0] as object))
  expect(Object.keys(read)).toHaveLength(20_000)
  expect(usedMs).toBeLessThan(5_000)
})
