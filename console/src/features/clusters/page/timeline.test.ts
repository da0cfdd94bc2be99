import { expect, test } from 'vitest'
import type { Operation } from '#contract/operations.ts'
import { shownFirst } from './timeline.ts'

const operation = (id: string, status: Operation['status'], more: Partial<Operation> = {}) =>
  ({ id, status, started_at: 'x', ...more }) as Operation
const scheduled = operation('scheduled', 'pending', { started_at: null, in_window: true })

test('a timeline shows what runs, else what ended last, and a scheduled change if nothing else is there', () => {
  const failed = operation('failed', 'failed')
  expect(shownFirst([scheduled, operation('runs', 'running'), failed], null)).toBe('runs')
  expect(shownFirst([scheduled, failed], null)).toBe('failed')
  expect(shownFirst([scheduled, failed], 'current')).toBe('current')
  expect(shownFirst([scheduled], null)).toBe('scheduled')
  expect(shownFirst([], null)).toBeUndefined()
})
