import { expect, test } from 'vitest'
import * as sessions from '#contract/sessions.ts'
import { installationGet } from '#contract/users.ts'
import { entryCalls } from './entry-calls.ts'

test('the calls of the first screen match the contract', () => {
  const declared = { ...sessions, installationGet }
  for (const [name, call] of Object.entries(entryCalls)) expect(declared[name as keyof typeof entryCalls]).toMatchObject(call)
})
