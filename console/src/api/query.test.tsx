// @vitest-environment happy-dom
import { QueryClientProvider, useQuery } from '@tanstack/react-query'
import { cleanup, render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import type { ReactNode } from 'react'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { clusterList } from '#contract/clusters/clusters.ts'
import { authStatus } from './auth.ts'
import { CallError } from './http.ts'
import { invalidate, query, queryClient, refetchAll, refetchFailed } from './query.ts'

const answers: (() => unknown)[] = []
let asked = 0
vi.mock(import('./client.ts'), async (original) => ({
  ...(await original()),
  call: (async () => {
    asked += 1
    return (answers[Math.min(asked, answers.length) - 1] ?? (() => ({ items: [] })))()
  }) as never,
}))
const answered = (...given: (number | object)[]) => {
  answers.splice(
    0,
    answers.length,
    ...given.map((one) => () => {
      if (typeof one === 'number') throw new CallError(`refused ${one}`, { status: one })
      return one
    }),
  )
}

beforeEach(() => {
  authStatus.set('signedIn')
  asked = 0
})
afterEach(() => {
  cleanup()
  queryClient.clear()
  vi.useRealTimers()
})

/** A part of a page that shows the list. */
function Part() {
  const { error, data, refetch } = useQuery(query(clusterList, { query: {} }))
  return (
    <p>
      {error ? error.message : data ? 'answered' : 'loading'}
      <button type="button" onClick={() => void refetch()}>
        Try again
      </button>
    </p>
  )
}
const page = (parts: ReactNode) =>
  render(<QueryClientProvider client={queryClient}>{parts}</QueryClientProvider>)
/** What a page's route does when the pointer rests on its link, and when the page loads. */
const load = () => queryClient.prefetchQuery(query(clusterList, { query: {} }))

test('a refused call is sent once, however often its page is prefetched, loaded and mounted', async () => {
  for (const status of [400, 401, 403, 404, 409, 422]) {
    asked = 0
    answered(status)
    await load()
    await load()
    page(<Part />)
    await screen.findByText(`refused ${status}`)
    cleanup()
    page([<Part key="1" />, <Part key="2" />])
    expect(await screen.findAllByText(`refused ${status}`)).toHaveLength(2)
    expect([status, asked]).toEqual([status, 1])
    cleanup()
    queryClient.clear()
  }
})

test('"Try again", a change of the data and half a minute later ask again after a refusal', async () => {
  answered(403)
  await load()
  page(<Part />)
  await userEvent.click(await screen.findByRole('button', { name: 'Try again' }))
  await vi.waitFor(() => expect(asked).toBe(2))
  cleanup()
  await invalidate(clusterList)
  await load()
  expect(asked).toBe(3)
  vi.useFakeTimers({ now: Date.now() + 31_000, toFake: ['Date'] })
  await load()
  expect(asked).toBe(4)
})

test('after missed events a failed query is sent again, and a refused one is not', async () => {
  for (const [status, sends] of [
    [503, 4],
    [403, 1],
    [404, 1],
  ] as const) {
    for (const again of [refetchAll, refetchFailed]) {
      asked = 0
      answered(status)
      page(<Part />)
      await screen.findByText(`refused ${status}`)
      await again(queryClient)
      expect([status, asked]).toEqual([status, sends])
      cleanup()
      queryClient.clear()
    }
  }
  asked = 0
  answered({ items: [] })
  page(<Part />)
  await screen.findByText('answered')
  await refetchFailed(queryClient)
  expect(asked).toBe(1)
  await refetchAll(queryClient)
  expect(asked).toBe(2)
})

test('a query without an answer, or with a 429 or 5xx, is sent once more, and then its page shows the error', async () => {
  for (const status of [0, 429, 500, 503]) {
    asked = 0
    answered(status)
    page(<Part />)
    await screen.findByText(`refused ${status}`)
    expect([status, asked]).toEqual([status, 2])
    cleanup()
    queryClient.clear()
  }
})

test('a query whose second try is answered shows the answer', async () => {
  answered(503, { items: [] })
  page(<Part />)
  await screen.findByText('answered')
  expect(asked).toBe(2)
})
