import { expect, test } from 'vitest'
import { lineFilter } from './lines.ts'

/** The kept text, if the text arrives in parts of this size. */
function kept(text: string, start: string, bytes: number): string {
  const parts: Buffer[] = []
  const filter = lineFilter(start, (line) => parts.push(line))
  const all = Buffer.from(text)
  for (let from = 0; from < all.length; from += bytes) filter.take(all.subarray(from, from + bytes))
  filter.end()
  return Buffer.concat(parts).toString()
}

test.each([1, 3, 7, 1000])('only the wanted lines are kept, in parts of %i bytes', (bytes) => {
  expect(kept('# HELP a\na{x="1"} 1\nab{} 1\n\na{y="ż"} 2', 'a{', bytes)).toBe(
    'a{x="1"} 1\na{y="ż"} 2',
  )
})

test('a line without an end takes little memory', () => {
  expect(kept(`a{${'x'.repeat(100_000)}`, 'a{', 4_096)).toHaveLength(16_384)
})
