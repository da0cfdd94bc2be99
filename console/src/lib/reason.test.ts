import { expect, test } from 'vitest'
import { reasonOf } from './reason.ts'

test('a failure says why by its own words, and where it has none by one sentence', () => {
  expect(reasonOf(new Error('Server a is taken'))).toBe('Server a is taken')
  for (const wordless of [new Error(''), 'text', null, undefined]) expect(reasonOf(wordless)).toBe('An unexpected error occurred')
})
