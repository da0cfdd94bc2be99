import * as z from 'zod/mini'
import { expect, test } from 'vitest'
import { changedLabels } from './changed.ts'
import { AllLabels, canHaveLabels, LabelChange, labelLimits, Notes, relabelled } from './labels.ts'

const sentenceOf = (schema: z.ZodMiniType, value: unknown): string | undefined => {
  const { error } = z.safeParse(schema, value)
  const issue = error?.issues[0]
  return issue?.code === 'invalid_key' ? issue.issues[0]?.message : issue?.message
}

test.each<Record<string, string>>([
  { rack: '3' },
  { 'example.com/gen': 'r640' },
  { 'a.b-c_D': 'X.y_z-9' },
  { spare: '' },
  { ['k'.repeat(63)]: 'v'.repeat(63) },
  { [`${'p'.repeat(253)}/${'k'.repeat(63)}`]: '' },
  { constructor: 'a' },
])('%.80j are labels', (labels) => {
  expect(sentenceOf(AllLabels, labels)).toBeUndefined()
})

test.each([
  ...Array.from(' !"#$%&\'()*+,:;<=>?@[\\]^`{|}~äß☃\u0000\u200b\u202e😀\n\t', (odd) => [
    odd,
    `a${odd}b`,
  ]),
  ['an empty key', ''],
  ['a hyphen at its start', '-a'],
  ['a dot at its end', 'a.'],
  ['two slashes', 'a/b/c'],
  ['an upper-case prefix', 'Example.com/a'],
  ['64 characters', 'k'.repeat(64)],
  ['64 KiB', 'k'.repeat(65_536)],
  ['a name of JavaScript', '__proto__x__'],
])('a key with %j is refused by a sentence', (_what, key) => {
  expect(sentenceOf(AllLabels, { [key]: '1' })).toMatch(/^(A label key has|The key of the label)/)
})

test.each([
  ...Array.from(' !"#$%&\'()*+,/:;<=>?@[\\]^`{|}~äß☃\u0000\u200b\u202e😀\n\t', (odd) => `a${odd}b`),
  '-a',
  'a-',
  'v'.repeat(64),
  'v'.repeat(65_536),
])('the value %.40j is refused by a sentence', (value) => {
  expect(sentenceOf(AllLabels, { rack: value })).toMatch(/^A label value is empty or has up to 63/)
})

const many = (n: number) =>
  Object.fromEntries(Array.from({ length: n }, (_, i) => [`key-${i}`, String(i)]))

test('an object has at most 64 labels, and a thousand are refused', () => {
  const tooMany = 'An object has at most 64 labels'
  expect(sentenceOf(AllLabels, many(labelLimits.labels))).toBeUndefined()
  expect(sentenceOf(AllLabels, many(labelLimits.labels + 1))).toBe(tooMany)
  expect(sentenceOf(LabelChange, many(1000))).toBe(tooMany)
  const full = many(labelLimits.labels)
  expect(canHaveLabels(relabelled(full, { 'key-1': 'other' })).ok).toBe(true)
  expect(canHaveLabels(relabelled(full, { more: '1', 'key-1': null })).ok).toBe(true)
  expect(canHaveLabels(relabelled(full, { more: '1' }))).toEqual({
    ok: false,
    reason: `${tooMany}, and these would be 65`,
  })
})

test('a change sets and removes the labels that it names, and says so', () => {
  const before = { rack: '3', gen: 'r640', spare: '' }
  const after = relabelled(before, { rack: '4', gen: null, tier: 'gold', gone: null })
  expect(after).toEqual({ rack: '4', spare: '', tier: 'gold' })
  expect(changedLabels(before, after)).toBe('rack=4 set, tier=gold set, gen=r640 removed')
  expect(changedLabels(before, before)).toBe('')
  expect(changedLabels({}, many(20))).toMatch(/, key-7=7 set, and 12 others$/)
})

test('notes have at most 4 KiB, and no invisible character', () => {
  expect(sentenceOf(Notes, 'ä'.repeat(2048))).toBeUndefined()
  expect(sentenceOf(Notes, `${'ä'.repeat(2048)}.`)).toBe('Notes have at most 4 KiB')
  expect(sentenceOf(Notes, 'two\nlines\tand a tab')).toBeUndefined()
  expect(sentenceOf(Notes, 'a\u202eb')).toBe('The text contains an invisible character')
})
