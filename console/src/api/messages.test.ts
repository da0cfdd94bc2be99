import { expect, test } from 'vitest'
import { messages, signInProblem } from './messages.ts'

test('all messages have the specified text', () => {
  expect(messages.unexpected('Invalid email or password')).toBe(
    'An unexpected error occurred: Invalid email or password',
  )
  expect(messages.unexpected('')).toBe('An unexpected error occurred: Please try again later.')
})

test('known error codes show their own message, and any other text is shortened and prefixed', () => {
  expect(signInProblem('session_expired')).toBe('Session expired. Please sign in again.')
  expect(signInProblem('toString')).toBe('Sign-in problem: toString')
  expect(signInProblem(`<b>${'x'.repeat(400)}`)).toBe(`Sign-in problem: <b>${'x'.repeat(297)}`)
})
