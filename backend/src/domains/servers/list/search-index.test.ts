import { expect, test } from 'vitest'
import { searchIndex } from './search-index.ts'

/** 3,000 different texts, so that the index grows twice. */
const texts = Array.from({ length: 3_000 }, (_, i) => `server-${(i * 7919).toString(36)}\nb8:ce:f6:${(i * 104_729).toString(16)}`)
const index = searchIndex()
for (const [slot, text] of texts.entries()) index.set(slot, text)
const found = (...needles: string[]) => {
  const mayContain = index.finder(needles)
  return texts.flatMap((_, slot) => (mayContain(slot) ? [slot] : []))
}

test.each(['ser', 'r-2a', 'f6:3e', 'b8:ce:f6:1f', texts[2_999]!.slice(3, 15), 'a', ''])('every server with the text %j is found', (needle) => {
  const containing = texts.flatMap((text, slot) => (text.includes(needle) ? [slot] : []))
  expect(found(needle)).toEqual(expect.arrayContaining(containing))
})

test('a search for two texts finds the servers with either text, and few others', () => {
  const both = found(texts[17]!.slice(0, 12), texts[2_900]!.slice(0, 12))
  expect(both).toEqual(expect.arrayContaining([17, 2_900]))
  expect(both.length).toBeLessThan(30)
})

test('after the text of a server has changed, the server is found by the new text and not by the old text', () => {
  index.set(5, 'something else')
  expect(found('something else')).toContain(5)
  expect(found(texts[5]!)).not.toContain(5)
})
