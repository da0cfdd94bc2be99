import { expect, test } from 'vitest'
import { waitlistJoin, waitlistList } from '#contract/people/invitations.ts'
import { authorize } from '#contract/sessions.ts'
import { userCreate, userList } from '#contract/users.ts'
import { startBackend } from '../../testing/backend.ts'

const backend = await startBackend()
const admin = await backend.signIn()
const person = (email: string) => ({
  email,
  name: 'Somebody',
  role: 'viewer' as const,
  password: 'a long password',
})

test('a new user can sign in, and no answer contains a password or its hash', async () => {
  const made = await admin.call(userCreate, { body: person('New@Example.com') })
  expect(made).toMatchObject({
    status: 201,
    answer: { email: 'new@example.com', role: 'viewer', last_sign_in_at: null },
  })
  expect(
    (
      await backend.call(authorize, {
        body: { email: 'new@example.com', password: 'a long password' },
      })
    ).status,
  ).toBe(200)
  const list = await admin.call(userList, { query: { q: 'new@' } })
  expect(list.answer!.items[0]).toMatchObject({
    email: 'new@example.com',
    last_sign_in_at: expect.any(String) as string,
  })
  expect(made.text + list.text).not.toMatch(/a long password|password_hash|argon2/)
})

test('of ten users created concurrently with the same email, one succeeds', async () => {
  const all = await Promise.all(
    Array.from({ length: 10 }, () => admin.call(userCreate, { body: person('twice@example.com') })),
  )
  expect(all.filter((a) => a.status === 201)).toHaveLength(1)
  expect(all.filter((a) => a.problem?.code === 'user_exists')).toHaveLength(9)
})

test('a password has 12 to 128 characters of any kind', async () => {
  const tryPassword = async (password: string, email: string) =>
    (await admin.call(userCreate, { body: { ...person(email), password } })).status
  expect(await tryPassword('x'.repeat(11), 'a@example.com')).toBe(422)
  expect(await tryPassword('x'.repeat(129), 'b@example.com')).toBe(422)
  expect(await tryPassword('ßüäöéłñ😀 🏔 and more ', 'c@example.com')).toBe(201)
})

test('the first user is created only if there is no user, and only once, even by two processes', async () => {
  const empty = await startBackend()
  const made = await Promise.all(
    Array.from({ length: 4 }, () =>
      empty.domains.users.createFirst({ email: 'first@example.com', password: 'a long password' }),
    ),
  )
  expect(made.filter(Boolean)).toMatchObject([{ email: 'first@example.com', role: 'admin' }])
  expect(
    await backend.domains.users.createFirst({
      email: 'late@example.com',
      password: 'a long password',
    }),
  ).toBeUndefined()
})

test('a search for users matches the text literally', async () => {
  const total = async (q: string) => (await admin.call(userList, { query: { q } })).answer!.total
  expect(await Promise.all(['%', '_', "' OR 1=1 --", '\\'].map(total))).toEqual([0, 0, 0, 0])
})

test('the waitlist gives the same response whether or not the email is known, and is rate-limited', async () => {
  const join = () =>
    backend.call(waitlistJoin, { body: { name: 'A', company: '', email: 'wait@example.com' } })
  const answers = [await join(), await join()]
  expect(answers.map((a) => [a.status, a.text])).toEqual([
    [204, ''],
    [204, ''],
  ])
  expect((await admin.call(waitlistList)).answer).toMatchObject({
    total: 1,
    items: [{ email: 'wait@example.com', invited_at: null }],
  })
  for (let i = 0; i < 3; i++) await join()
  const refused = await join()
  expect(refused.status).toBe(429)
  expect(Number(refused.headers['retry-after'])).toBe(60)
  backend.clock.advance(60_000)
  expect((await join()).status).toBe(204)
})
