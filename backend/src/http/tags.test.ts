import { expect, test } from 'vitest'
import { processorMs } from '../../../tools/testing/processor-time.ts'
import { hasTag, isVersion, versionsOf } from './tags.ts'

test.each<[header: string | undefined, versions: number[] | undefined]>([
  [undefined, undefined],
  ['*', undefined],
  ['"3"', [3]],
  ['W/"3"', [3]],
  ['"2", "3"', [2, 3]],
  ['"2",W/"3" ,, "4",', [2, 3, 4]],
  ['"of,another", "3"', [3]],
  ['"of-another-server"', []],
  ['""', []],
])('the version numbers are read from the header If-Match: %s', (header, versions) => {
  expect(versionsOf(header)).toEqual(versions)
})

test.each(['3', '"3', '3"', '"2" "3"', '*, "3"', 'w/"3"', ',', ' ', '"a b"', '"\u0100"'])(
  'If-Match: %s is refused, because it is not a list of tags',
  (header) => {
    expect(() => versionsOf(header)).toThrow('If-Match must be an ETag that Steelyard returned')
  },
)

test('one matching version in If-Match is enough', () => {
  expect(isVersion([2, 3], 3)).toBe(true)
  expect(isVersion([2, 3], 4)).toBe(false)
  expect(isVersion([], 4)).toBe(false)
  expect(isVersion(undefined, 4)).toBe(true)
})

test('a matching tag in If-None-Match, weak or strong, means that the client has the current response', () => {
  for (const header of ['"3"', 'W/"3"', '"2", "3"', '*']) expect(hasTag(header, '"3"')).toBe(true)
  expect(hasTag('"a"', 'W/"a"')).toBe(true)
  for (const header of [undefined, '"2"', '3', '"33"', ''])
    expect(hasTag(header, '"3"')).toBe(false)
})

test('a hostile header is parsed in linear time', async () => {
  const tabs = '\t'.repeat(15_000)
  const headers = [
    `${tabs}x`,
    `"a"${tabs}x`,
    `${tabs}"a"${tabs}`,
    ' '.repeat(16_000),
    '"'.repeat(16_000),
    ','.repeat(16_000),
    '"a" '.repeat(4_000),
  ]
  const parsedMs = () => processorMs(() => headers.map((header) => hasTag(header, '"3"')))
  // The least of three, because one of them may include a collection of garbage.
  expect(Math.min(await parsedMs(), await parsedMs(), await parsedMs())).toBeLessThan(50)
})
