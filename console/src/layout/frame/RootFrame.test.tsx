// @vitest-environment happy-dom
import { QueryClientProvider, useQuery } from '@tanstack/react-query'
import { cleanup, render, screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { authStatus } from '../../api/auth.ts'
import { CallError } from '../../api/http.ts'
import { queryClient } from '../../api/query.ts'
import { FailedPage, NotFoundPage } from './pages.tsx'
import { Boundary, RootFrame } from './RootFrame.tsx'

beforeEach(() => void vi.spyOn(console, 'error').mockImplementation(() => undefined))
afterEach(() => {
  cleanup()
  queryClient.clear()
  vi.restoreAllMocks()
})

test('while the session is validated, the screen shows only "Loading..."', () => {
  authStatus.set('loading')
  render(<RootFrame />)
  expect(screen.getByRole('status').textContent).toBe('Loading...')
  expect(screen.queryByRole('banner')).toBeNull()
})

test('an error while rendering shows "Something went wrong" with its message, and "Try again" renders the page again', async () => {
  let broken = true
  const Page = () => {
    if (broken) throw new Error('The picture cannot be drawn')
    return <p>The page</p>
  }
  render(
    <Boundary of={null}>
      <Page />
    </Boundary>,
  )
  expect(screen.getByRole('heading').textContent).toBe('Something went wrong')
  screen.getByText('The picture cannot be drawn')
  broken = false
  await userEvent.click(screen.getByRole('button', { name: 'Try again' }))
  await screen.findByText('The page')
})

test('"Try again" drops a cached response that breaks the page, and the page fetches it again', async () => {
  const answers: unknown[] = [{ items: null }, { items: ['a server'] }]
  const asked = {
    queryKey: ['servers'],
    queryFn: () => answers.shift() as { items: string[] },
    staleTime: Infinity,
  }
  await queryClient.prefetchQuery(asked)
  const Page = () => {
    const { data } = useQuery(asked)
    return <p>{data === undefined ? 'Loading' : data.items.join()}</p>
  }
  render(
    <QueryClientProvider client={queryClient}>
      <Boundary of={null}>
        <Page />
      </Boundary>
    </QueryClientProvider>,
  )
  expect(screen.getByRole('heading').textContent).toBe('Something went wrong')
  await userEvent.click(screen.getByRole('button', { name: 'Try again' }))
  await screen.findByText('a server')
})

test('an error without a message shows the default message', () => {
  render(<FailedPage error={new Error('')} reset={() => undefined} />)
  expect(screen.getByText('An unexpected error occurred').isConnected).toBe(true)
})

test('"Try again" drops the failed responses that are cached, so that the page fetches them again', async () => {
  await queryClient.prefetchQuery({
    queryKey: ['serverGet'],
    queryFn: () => Promise.reject(new CallError('away', { status: 503 })),
    retry: false,
  })
  expect(queryClient.getQueryState(['serverGet'])?.status).toBe('error')
  const reset = vi.fn<() => void>()
  render(<FailedPage error={new CallError('away', { status: 503 })} reset={reset} />)
  await userEvent.click(screen.getByRole('button', { name: 'Try again' }))
  await waitFor(() => expect(reset).toHaveBeenCalled())
  expect(queryClient.getQueryState(['serverGet'])?.status).toBe('pending')
})

test('the page for unknown paths says what may have happened to the page', () => {
  render(<NotFoundPage />)
  expect(screen.getByRole('heading').nextElementSibling?.textContent).toBe(
    'The page you are looking for might have been removed, renamed or be unavailable.',
  )
})
