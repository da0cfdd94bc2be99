import { describe, expect, test } from 'vitest'
import { backOf, changeOf, changeWords, readBulk, readEdit } from './edits.ts'

const before = { labels: { rack: '3', gen: 'r640' }, notes: '' }
const edit = (labels: Record<string, string>, notes = '') => readEdit(before, { labels, notes })

test('an edit sends only what was changed, so that the labels of others stay', () => {
  expect(edit({ rack: '4', env: 'prod' })).toEqual({
    ok: true,
    body: { labels: { gen: null, rack: '4', env: 'prod' } },
  })
  expect(edit({ rack: '3', gen: 'r640' })).toEqual({ ok: true, body: {} })
  expect(edit({ rack: '3', gen: 'r640' }, ' Its fan hums ')).toEqual({
    ok: true,
    body: { notes: 'Its fan hums' },
  })
})

test('the change that takes an edit back restores only its labels', () => {
  const change = changeOf(before.labels, { rack: '4', env: 'prod' })
  expect(backOf(before.labels, change)).toEqual({ rack: '3', gen: 'r640', env: null })
  expect(changeWords(change)).toEqual(['gen-', 'rack=4', 'env=prod'])
})

describe('odd labels are refused at the field, by the sentence of the contract', () => {
  test.each(
    [
      ['a b', '1'],
      ['☃', '1'],
      ['-a', '1'],
      ['a/b/c', '1'],
      ['__proto__', '1'],
      ['a', 'b\u0001c'],
      ['a', '\u202Eb'],
      ['a', '<script>'],
      ['a', "'; drop table server"],
      ['k'.repeat(65_536), '1'],
      ['a', 'v'.repeat(65_536)],
    ].map(([key, value]) => ({
      key: key!,
      value: value!,
      title: JSON.stringify([key, value]).slice(0, 40),
    })),
  )('$title', ({ key, value }) => {
    for (const read of [
      edit(Object.fromEntries([[key, value]])),
      readBulk({ set: Object.fromEntries([[key, value]]), remove: {} }),
    ]) {
      const { labels, set } = read.ok ? {} : (read.fields as Record<string, string>)
      expect((labels ?? set ?? '').length).toBeLessThan(300)
      expect(labels ?? set).toMatch(/A label (key|value) |The key of the label is too long/)
    }
  })
})

test('a thousand labels are refused by a sentence', () => {
  const thousand = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`key-${i}`, 'x']))
  expect(edit(thousand)).toEqual({
    ok: false,
    fields: { labels: 'An object has at most 64 labels' },
  })
  expect(readBulk({ set: thousand, remove: {} })).toMatchObject({
    ok: false,
    fields: { set: 'An object has at most 64 labels' },
  })
})

test('notes of more than 4 KiB are refused at their field', () => {
  expect(edit(before.labels, 'é'.repeat(2049))).toEqual({
    ok: false,
    fields: { notes: 'Notes have at most 4 KiB' },
  })
})

test('labels of several servers are set and removed by one change', () => {
  expect(readBulk({ set: { rack: '4' }, remove: { gen: '' } })).toEqual({
    ok: true,
    body: { rack: '4', gen: null },
  })
  expect(readBulk({ set: { rack: '4' }, remove: { rack: '' } })).toEqual({
    ok: false,
    fields: { remove: "rack can't be set and removed at once" },
  })
  expect(readBulk({ set: {}, remove: { gen: 'r640' } })).toEqual({
    ok: false,
    fields: { remove: 'Enter only the key of a label: gen' },
  })
})
