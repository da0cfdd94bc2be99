// @vitest-environment happy-dom
import { QueryClientProvider } from '@tanstack/react-query'
import { cleanup, render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Overview } from '#contract/overview.ts'
import { preferencesGet } from '#contract/people/preferences.ts'
import { keyOf, queryClient } from '../../api/query.ts'
import { FirstSteps } from './FirstSteps.tsx'

const held = vi.hoisted(() => ({ may: true }))
vi.mock('../../api/session.ts', () => ({
  allowed: () => (held.may ? { ok: true } : { ok: false, reason: 'You are a viewer' }),
}))
const calls = vi.hoisted(() => ({ put: [] as unknown[] }))
vi.mock('../../api/client.ts', () => ({
  CallError: class extends Error {},
  call: (operation: { method: string }, ask?: { body?: unknown }) => {
    if (operation.method === 'PUT') calls.put.push(ask?.body)
    return Promise.resolve(ask?.body ?? { theme: 'dark' })
  },
}))
beforeEach(() => {
  held.may = true
  calls.put = []
  queryClient.setQueryData([keyOf(preferencesGet), {}], { theme: 'dark' })
})
afterEach(() => {
  cleanup()
  queryClient.clear()
})

const overview = (servers: number, clusters: number): Overview =>
  ({
    servers: { total: servers },
    clusters: { total: clusters, by_status: {}, by_word: [] },
    capacity: servers > 0 ? [{ datacenter: { id: 'd' } }] : [],
    dials_nowhere: false,
  }) as unknown as Overview

const show = (data: Overview) =>
  render(
    <QueryClientProvider client={queryClient}>
      <FirstSteps data={data} />
    </QueryClientProvider>,
  )
const steps = () => screen.queryAllByRole('listitem').map((step) => step.dataset['state'])

test('the first steps stay after the first server, until a cluster exists', () => {
  const { rerender } = show(overview(0, 0))
  expect(steps()).toEqual(['done', 'next', 'todo', 'todo'])
  const as = (data: Overview) =>
    rerender(
      <QueryClientProvider client={queryClient}>
        <FirstSteps data={data} />
      </QueryClientProvider>,
    )
  as(overview(3, 0))
  expect(steps()).toEqual(['done', 'done', 'done', 'next'])
  expect(screen.getByRole('link', { name: 'Create cluster' })).toBeTruthy()
  as(overview(3, 1))
  expect(steps()).toEqual([])
})

test('the first steps can be dismissed, for good and without other preferences being lost', async () => {
  show(overview(3, 0))
  await userEvent.click(screen.getByRole('button', { name: 'Dismiss' }))
  expect(steps()).toEqual([])
  await expect.poll(() => calls.put).toEqual([{ theme: 'dark', first_steps: 'dismissed' }])
})

test('those who cannot create clusters do not see the first steps once servers exist', () => {
  held.may = false
  show(overview(3, 0))
  expect(steps()).toEqual([])
})
