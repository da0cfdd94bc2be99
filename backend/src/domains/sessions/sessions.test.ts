import { expect, test } from 'vitest'
import { sessionGet } from '#contract/sessions.ts'
import { startBackend } from '../../testing/backend.ts'

const backend = await startBackend()

test('a signed-in user is told who they are, with their scopes', async () => {
  const viewer = await backend.signIn({ role: 'viewer' })
  const { status, answer } = await viewer.call(sessionGet)
  expect(status).toBe(200)
  expect(answer).toMatchObject({ user: { id: viewer.userId, email: viewer.email } })
  expect(answer!.scopes).toContain('servers:read')
  expect(answer!.scopes).not.toContain('servers:write')
})
