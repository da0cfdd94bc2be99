import { afterEach, describe, expect, test, vi } from 'vitest'
import { largestPatchBody, patchLimits } from '#contract/patches.ts'
import { readJson } from './body.ts'

afterEach(() => vi.restoreAllMocks())

/**
 * Bodies are read on the main thread. What that costs grows with the number of values, so it is
 * bounded before the parser sees the text: a text of 2 MiB with few values is one pass over bytes.
 */
describe('the largest body of a call', () => {
  const parsed = () => vi.spyOn(JSON, 'parse')

  test('with the longest patch is parsed once, and has a handful of values', () => {
    const parse = parsed()
    const body = `#${'"'.repeat(patchLimits.bodyBytes - 1)}`
    const bytes = Buffer.from(JSON.stringify({ name: 'a', body, labels: {} }))
    // Quotes are escaped, so that this text is the longest that a patch can need.
    expect(bytes.byteLength).toBeGreaterThan(patchLimits.bodyBytes * 2 - 1)
    expect(readJson(bytes)).toEqual({ name: 'a', body, labels: {} })
    expect(parse).toHaveBeenCalledTimes(1)
  })

  test.each([
    ['objects', '{"a":1}'],
    ['objects of their own shapes', null],
    ['lists', '[]'],
    ['numbers', '1'],
  ])('with too many %s is refused before it is parsed', (_, item) => {
    const parse = parsed()
    const count = Math.floor(largestPatchBody / 16)
    const items = Array.from({ length: count }, (_one, i) => item ?? `{"k${i}":1}`)
    const bytes = Buffer.from(`[${items.join(',')}]`)
    expect(() => readJson(bytes)).toThrow('The body has more than 20000 values')
    expect(parse).not.toHaveBeenCalled()
  })

  test('that is too deep is refused before it is parsed', () => {
    const parse = parsed()
    expect(() => readJson(Buffer.from('['.repeat(largestPatchBody)))).toThrow(
      'The body has more than 16 levels',
    )
    expect(parse).not.toHaveBeenCalled()
  })
})
