import { expect, test } from 'vitest'
import { afterBack, indentBelow } from './editor-text.ts'

test.each([
  ['machine:', 2],
  ['  sysctls:', 4],
  ['  - name:', 6],
  ['    content: |', 6],
  ['machine: ', 2],
  ['  type: worker', null],
  ['# what follows:', null],
  ['  - a', null],
  ['', null],
])('a new line below %j is indented by %j spaces', (before, spaces) =>
  expect(indentBelow(before)).toBe(spaces),
)

test('a value that arrives late doesn’t replace newer text', () => {
  expect(afterBack(['a', 'ab', 'abc'], 'ab')).toEqual(['abc'])
  expect(afterBack(['a', 'ab'], 'ab')).toEqual([])
  expect(afterBack(['a', 'ab'], 'from elsewhere')).toBeNull()
  expect(afterBack([], '')).toBeNull()
})
