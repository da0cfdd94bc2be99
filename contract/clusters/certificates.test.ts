import { expect, test } from 'vitest'
import { isEnding } from './certificates.ts'

const dayMs = 86_400_000
const at = (days: number) => new Date(days * dayMs)

test.each([
  ['an authority of ten years, 31 days before its end', 3_650, 31, false],
  ['an authority of ten years, 29 days before its end', 3_650, 29, true],
  ['a certificate of a year at its half', 365, 182, false],
  ['a certificate of a day that Talos renews after 12 hours', 1, 0.5, false],
  ['a certificate of a day that was not renewed', 1, 0.09, true],
  ['a certificate that has ended', 365, -1, true],
])('%s', (_what, days, left, expected) => {
  expect(isEnding(at(0), at(days), at(days - left).getTime())).toBe(expected)
})
