import { expect, test } from 'vitest'
import * as sessions from '#contract/sessions.ts'
import { installationGet } from '#contract/users.ts'
import { CallError, entryCalls, noAnswer, readAnswer, saidBy, whyOf } from './http.ts'

/** The error that `readAnswer` throws for a response. */
const problem = (status: number, body: string) =>
  readAnswer(new Response(body, { status })).catch((error: unknown) => error)

test('a failure shows the server’s message, or else the default message of the form', async () => {
  const failed = 'Server name could not be updated'
  expect(saidBy(await problem(409, '{"error":"Server name already exists"}'), failed)).toBe(
    'Server name already exists',
  )
  for (const [status, body] of [
    [500, '{"error":""}'],
    [502, '<html>Bad gateway</html>'],
    [500, ''],
  ] as const)
    expect(saidBy(await problem(status, body), failed)).toBe(failed)
  expect(saidBy(new Error('Failed to fetch'), failed)).toBe(failed)
})

test('the reason shown below a headline never repeats that headline', async () => {
  expect(whyOf(await problem(422, '{"error":"Enter a patch"}'))).toBe('Enter a patch')
  expect(whyOf(await problem(502, '<html>Bad gateway</html>'))).toBe('')
  expect(whyOf(new Error(''))).toBe('')
  expect(whyOf(new CallError(noAnswer, { status: 0 }))).toBe(noAnswer)
})

test('the requests of the first screen match the contract', () => {
  const declared = { ...sessions, installationGet }
  for (const [name, call] of Object.entries(entryCalls))
    expect(declared[name as keyof typeof entryCalls]).toMatchObject(call)
})
