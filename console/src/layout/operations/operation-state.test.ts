import { expect, test } from 'vitest'
import type { Operation } from '#contract/operations.ts'
import { step } from '../../lib/testing/steps.ts'
import { hasBegun, operationSaid, targetPage, tookMs } from './operation-state.ts'

const at = '2026-11-20T14:00:00.000Z'
const operation = (change: Partial<Operation>): Operation => ({
  id: '0198c0de-0000-7000-8000-000000000001',
  kind: 'serverReset',
  target: { kind: 'server', id: 's', name: 'copper-lynx-402' },
  status: 'running',
  reason: null,
  created_by: 'ops@example.com',
  created_at: at,
  started_at: at,
  ended_at: null,
  steps: [],
  ...change,
})

test('a running operation shows its current step, a failed one the reason of the failure', () => {
  expect(operationSaid(operation({ steps: [step('reset/a', 'running')] }))).toMatchObject({
    tone: 'busy',
    word: 'Running',
    why: step('reset/a', 'running').title,
  })
  expect(operationSaid(operation({ status: 'pending', started_at: null })).why).toBeNull()
  expect(
    operationSaid(
      operation({ status: 'failed', steps: [step('reset/a', 'failed', { reason: 'no answer' })] }),
    ),
  ).toEqual({
    tone: 'danger',
    word: 'Failed',
    why: 'no answer',
  })
  expect(operationSaid(operation({ status: 'done' }))).toEqual({
    tone: 'ok',
    word: 'Done',
    why: null,
  })
})

test('a scheduled change that is refused before its first step has not begun, although it has ended', () => {
  const ended = { status: 'failed', started_at: at, ended_at: at } as const
  expect(
    hasBegun(operation({ ...ended, steps: [step('drain/a', 'skipped'), step('drain/b', 'todo')] })),
  ).toBe(false)
  expect(
    hasBegun(operation({ ...ended, steps: [step('drain/a', 'done'), step('drain/b', 'skipped')] })),
  ).toBe(true)
})

test('an operation links to the page of its target', () => {
  expect(targetPage(operation({}))).toBe('/infra/servers/s')
  expect(targetPage(operation({ target: { kind: 'cluster', id: 'c', name: 'web' } }))).toBe(
    '/infra/clusters/c',
  )
  expect(
    targetPage(
      operation({ target: { kind: 'datacenter', id: 'd', name: '10.0.4.0/24 to PL-POZ-1' } }),
    ),
  ).toBe('/infra/datacenters?q=PL-POZ-1')
  expect(targetPage(operation({ target: { kind: 'server', id: null, name: 'gone' } }))).toBeNull()
})

test('the duration counts from the start, and up to now while the operation runs', () => {
  const start = Date.parse(at)
  expect(tookMs(operation({}), start + 5_000)).toBe(5_000)
  expect(tookMs(operation({ ended_at: '2026-11-20T14:00:03.000Z' }), start + 5_000)).toBe(3_000)
})
