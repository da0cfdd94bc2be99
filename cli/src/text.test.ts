import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ago, cut, disk, manyLines, memory, oneLine, safeJson, widthOf } from './text.ts'

describe('untrusted text on a terminal', () => {
  test('escape sequences, bells, bidirectional overrides and invisible characters are neutralized', () => {
    expect(oneLine('a\u001b[31mred\u0007')).toBe('a\ufffd[31mred\ufffd')
    expect(oneLine('\u202eevil\u2066\u200b\ufeff\u2028')).toBe('\ufffdevil\ufffd\ufffd\ufffd\ufffd')
    expect(oneLine('one\r\ntwo\tthree')).toBe('one two three')
    expect(manyLines('a: 1\r\n\tb\u001b')).toBe('a: 1\n  b\ufffd')
  })

  test('no unsafe character remains in any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(oneLine(text)).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u)
      }),
    )
  })

  test('JSON keeps its meaning and contains no control character', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const json = safeJson({ text })
        expect(JSON.parse(json)).toEqual({ text })
        expect(json).not.toMatch(/[\p{Cc}\u202a-\u202e]/u)
      }),
    )
  })
})

describe('width', () => {
  test('the width of a text is measured in terminal columns, not code units', () => {
    expect(widthOf('Poznań')).toBe(6)
    expect(widthOf('e\u0301')).toBe(1)
    expect(widthOf('東京')).toBe(4)
    expect(widthOf('🏗️')).toBe(2)
  })

  test('a truncated text fits the width and splits no character', () => {
    expect(cut('Warszawa', 5)).toBe('Wars…')
    expect(cut('東京都', 4)).toBe('東…')
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme' }),
        fc.integer({ min: 1, max: 40 }),
        (text, width) => widthOf(cut(text, width)) <= width,
      ),
    )
  })
})

test('sizes and times are formatted', () => {
  expect([0, 1023, 1024, 1536, 256 * 1024 ** 3, null].map(memory)).toEqual([
    '0 B',
    '1023 B',
    '1 KiB',
    '1.5 KiB',
    '256 GiB',
    '?',
  ])
  expect([0, 999, 3_840_755_982_336, undefined].map(disk)).toEqual(['0 B', '999 B', '3.8 TB', '?'])
  const now = Date.parse('2026-11-20T08:00:00Z')
  expect(
    [
      '2026-11-20T08:00:05Z',
      '2026-11-20T07:59:30Z',
      '2026-11-20T07:00:00Z',
      '2026-11-19T08:00:00Z',
      '2026-11-01T08:00:00Z',
      null,
    ].map((t) => ago(t, now)),
  ).toEqual(['now', '30 s ago', '60 min ago', '24 h ago', '19 days ago', 'never'])
})
