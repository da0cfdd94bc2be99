import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { collapse, diffLines } from './diff.ts'

test('a removed line has its line number in the old text, an added line its line number in the new text', () => {
  expect(diffLines('a\nb\nc\n', 'a\nx\nc\nd\n')).toEqual([
    { kind: 'same', before: 1, after: 1, text: 'a' },
    { kind: 'remove', before: 2, after: null, text: 'b' },
    { kind: 'add', before: null, after: 2, text: 'x' },
    { kind: 'same', before: 3, after: 3, text: 'c' },
    { kind: 'add', before: null, after: 4, text: 'd' },
  ])
  expect(diffLines('', 'a\n').map((l) => l.kind)).toEqual(['add'])
  expect(diffLines('', '')).toEqual([])
})

test('a comparison contains both texts completely', () => {
  const text = fc
    .array(fc.constantFrom('a', 'b', 'c', '  d: 1', ''), { maxLength: 40 })
    .map((lines) => lines.join('\n'))
  fc.assert(
    fc.property(text, text, (before, after) => {
      const lines = diffLines(before, after)
      const side = (skip: 'add' | 'remove') =>
        lines.filter((l) => l.kind !== skip).map((l) => l.text)
      const wanted = (whole: string) => (whole === '' ? [] : whole.replace(/\n$/, '').split('\n'))
      expect(side('add')).toEqual(wanted(before))
      expect(side('remove')).toEqual(wanted(after))
    }),
  )
})

test('unchanged lines are folded, with three lines of context around each change', () => {
  const before = Array.from({ length: 30 }, (_, i) => `line ${i}`).join('\n')
  const parts = collapse(diffLines(before, before.replace('line 15', 'changed')))
  expect(parts.map((p) => [p.hidden, p.lines.length])).toEqual([
    [true, 12],
    [false, 8],
    [true, 11],
  ])
  expect(parts.reduce((sum, p) => sum + p.lines.length, 0)).toBe(31)
})
