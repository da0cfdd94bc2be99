import { expect, test } from 'vitest'
import { isEnding } from './certificates.ts'

const dayMs = 86_400_000
const at = (days: number) => new Date(days * dayMs)

test.each([
  ['31 days before the end of an authority of ten years', 3_650, 31, false],
  ['29 days before the end of an authority of ten years', 3_650, 29, true],
  ['half a year before the end of a certificate of one year', 365, 182, false],
  ['12 hours before the end of a certificate of one day, when Talos renews it', 1, 0.5, false],
  ['two hours before the end of a certificate of one day', 1, 0.09, true],
  ['after the end of a certificate', 365, -1, true],
])('%s (lifetime of %d days, %d left), `isEnding` is %s', (_what, days, left, expected) => {
  expect(isEnding(at(0), at(days), at(days - left).getTime())).toBe(expected)
})
