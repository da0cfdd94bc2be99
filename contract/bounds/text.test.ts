import { expect, test } from 'vitest'
import { startOf } from './text.ts'

const bytes = (text: string) => new TextEncoder().encode(JSON.stringify(text)).length - 2
/** One text of each size that a character has in JSON. */
const kinds = ['a', '"', '\\', '\n', '\u0001', '\u007f', 'é', '€', '🚀', '\ud800']

test.each(kinds)(
  'the start of a text of %j fills its bytes as JSON and splits no character',
  (one) => {
    const text = one.repeat(5000)
    const start = startOf(text, 4096)
    expect(text.startsWith(start)).toBe(true)
    expect(bytes(start)).toBeLessThanOrEqual(4096)
    expect(bytes(start) + bytes(one)).toBeGreaterThan(4096)
    expect(start.length % one.length).toBe(0)
  },
)

test('a text that fits is whole', () => {
  const text = kinds.join('').repeat(10)
  expect(startOf(text, bytes(text))).toBe(text)
  expect(startOf(text, bytes(text) - 1)).not.toBe(text)
})
