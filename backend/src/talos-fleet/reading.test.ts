import { expect, test } from 'vitest'
import { resources } from '#talos/client/resources.ts'
import { digestReads, shortDigest } from './reading.ts'

/** The digest of answers by their kind. */
const digest = (answers: Record<string, string[]>) =>
  shortDigest(digestReads.map(({ request }) => (Object.entries(answers).find(([type]) => request.includes(type))?.[1] ?? []).map((text) => Buffer.from(text))))

test('the digest depends on each answer and on its kind', () => {
  const [disk, link] = [resources.discoveredVolume.type, resources.link.type]
  const first = digest({ [disk]: ['a', 'b'], [link]: ['c'] })
  expect(first).toEqual(expect.any(Number))
  expect(digest({ [link]: ['c'], [disk]: ['a', 'b'] })).toBe(first)
  const others = [{ [disk]: ['a', 'x'], [link]: ['c'] }, { [disk]: ['a'], [link]: ['c'] }, { [disk]: ['a'], [link]: ['b', 'c'] }, { [disk]: ['a', 'b'] }]
  expect(new Set([first, ...others.map(digest)]).size).toBe(5)
})

test('too large answers have no digest, and neither have too many', () => {
  const { type } = resources.discoveredVolume
  expect(digest({ [type]: ['x'.repeat(200_000)] })).toEqual(expect.any(Number))
  expect(digest({ [type]: ['x'.repeat(300_000)] })).toBeUndefined()
  expect(digest({ [type]: Array.from({ length: 10_000 }, () => '') })).toBeUndefined()
})
