import * as z from 'zod/mini'
import { expect, test } from 'vitest'
import { email } from './sessions.ts'

test('an email address has no control, bidirectional or zero-width characters', () => {
  for (const hostile of [
    'a\u0000b@example.com',
    'a\u001bb@example.com',
    'a\u202eb@example.com',
    'a\u2066b@example.com',
    'a\u200bb@example.com',
    'a@exa\u2060mple.com',
  ])
    expect(z.safeParse(email, hostile).success).toBe(false)
  for (const good of ['anna@example.com', 'jürgen+rack@bücher.example'])
    expect(z.safeParse(email, good).data).toBe(good)
})
