import { expect, test } from 'vitest'
import { reasonOf } from './reason.ts'

test('an error without a message of its own shows the default message', () => {
  expect(reasonOf(new Error('Server a is taken'))).toBe('Server a is taken')
  for (const wordless of [new Error(''), 'text', null, undefined])
    expect(reasonOf(wordless)).toBe('An unexpected error occurred')
})
