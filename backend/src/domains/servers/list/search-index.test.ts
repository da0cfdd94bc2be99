import { expect, test } from 'vitest'
import { both, countOf, has, searchIndex } from './search-index.ts'

/**
 * 3,000 different texts, so that the index grows twice. Some characters are in few texts, some
 * aren't ASCII.
 */
const texts = Array.from(
  { length: 3_000 },
  (_, i) =>
    `server-${(i * 7919).toString(36)}\nb8:ce:f6:${(i * 104_729).toString(16)}${i % 500 === 0 ? '\nöst {[]}' : ''}`,
)
const index = searchIndex()
for (const [slot, text] of texts.entries()) index.set(slot, text)
/** The servers that the index finds, and the number of texts that it reads for that. */
function search(...needles: string[]) {
  let read = 0
  const bits = index.find(needles, (slot) => {
    read++
    return texts[slot]!
  })
  return { slots: texts.flatMap((_, slot) => (has(bits, slot) ? [slot] : [])), read }
}
const containing = (...needles: string[]) =>
  texts.flatMap((text, slot) => (needles.some((needle) => text.includes(needle)) ? [slot] : []))

test.each([
  'a',
  '7',
  ':',
  ' ',
  '{',
  'e',
  'se',
  ':c',
  'ö',
  'ös',
  'öst',
  'ser',
  'r-2',
  '-',
  'f6:',
  'zzz',
  'Ser',
])(
  'the servers with the text %j are found exactly, and at most those with other letters are read',
  (needle) => {
    const { slots, read } = search(needle)
    expect(slots).toEqual(containing(needle))
    expect(read).toBeLessThanOrEqual(needle.includes('ö') || needle === 'Ser' ? 6 : 0)
  },
)

test.each([
  'r-2a',
  'f6:3e',
  'b8:ce:f6:1f',
  'server',
  'öst {',
  texts[2_999]!.slice(3, 10),
  'rver-1\nb'.slice(0, 6),
  'vres',
  'server-server',
])(
  'for the longer text %j, only texts with all of its sequences of three characters are read',
  (needle) => {
    const { slots, read } = search(needle)
    expect(slots).toEqual(containing(needle))
    const sequences = Array.from({ length: needle.length - 2 }, (_, i) => needle.slice(i, i + 3))
    expect(read).toBeLessThanOrEqual(
      texts.filter((text) => sequences.every((one) => text.includes(one))).length,
    )
  },
)

test('the servers of a set are counted, and two sets have the servers in common that are in each', () => {
  const of = (needle: string) => index.find([needle], (slot) => texts[slot]!)
  for (const needle of ['s', 'r-2', '7', 'zzz'])
    expect(countOf(of(needle))).toBe(containing(needle).length)
  const common = both(of('7'), of('r-2'))
  expect(texts.flatMap((_, slot) => (has(common, slot) ? [slot] : []))).toEqual(
    containing('7').filter((slot) => texts[slot]!.includes('r-2')),
  )
  expect(countOf(new Uint32Array([0xffff_ffff, 0x8000_0001]))).toBe(34)
})

test('a search for two texts finds the servers with either text', () => {
  const [a, b] = [texts[17]!.slice(0, 10), texts[2_900]!.slice(0, 10)]
  expect(search(a, b).slots).toEqual(containing(a, b))
})

test('after the text of a server has changed, the server is found by the new text and not by the old text', () => {
  const before = texts[5]!
  texts[5] = 'something else'
  index.set(5, texts[5], before)
  for (const needle of ['something else', 'els', 'b8', 's', before.slice(0, 10)])
    expect(search(needle).slots).toEqual(containing(needle))
})
