/** Calls that began before a change of an account, and end after it. */
import { hash } from '@node-rs/argon2'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { apiTokenCreate } from '#contract/people/api-tokens.ts'
import { authorize, passwordChange } from '#contract/sessions.ts'
import {
  userCreate,
  userList,
  userRemove,
  userResetSecondFactor,
  userUnlock,
  userUpdate,
} from '#contract/users.ts'
import type { Tx } from '../../db/db.ts'
import { type SignedIn, startBackend } from '../../testing/backend.ts'
import { hashPassword } from '../sessions/api.ts'

const backend = await startBackend()
const { db } = backend.platform
const good = 'correct horse battery'

/** Waits until so many calls wait for a row. */
const untilWaiting = (calls: number) =>
  expect
    .poll(
      async () =>
        (
          await sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(
            db,
          )
        ).rows.length,
      { timeout: 60_000, interval: 20 },
    )
    .toBe(calls)

/** Begins calls while the user's row is locked, and lets `change` happen before they go on. */
async function whileLocked<T>(
  userId: string,
  begin: (() => Promise<T>)[],
  change: (tx: Tx) => Promise<unknown>,
): Promise<T[]> {
  const { begun } = await db.transaction().execute(async (tx) => {
    await tx.selectFrom('person').select('id').where('id', '=', userId).forUpdate().execute()
    const all = Promise.all(begin.map((each) => each()))
    await untilWaiting(begin.length)
    await change(tx)
    return { begun: all }
  })
  return begun
}
const setPerson = (tx: Tx, id: string, change: { password_hash: string } | { disabled_at: Date }) =>
  tx.updateTable('person').set(change).where('id', '=', id).execute()
const endSessions = (tx: Tx, userId: string) =>
  tx
    .updateTable('session')
    .set({ revoked_at: new Date(backend.clock.now()), revoked_reason: 'password_reset' })
    .where('person_id', '=', userId)
    .execute()
const openSessions = async (userId: string) =>
  (
    await db
      .selectFrom('session')
      .select('id')
      .where('person_id', '=', userId)
      .where('revoked_at', 'is', null)
      .execute()
  ).length
const hashOf = async (userId: string) =>
  (
    await db
      .selectFrom('person')
      .select('password_hash')
      .where('id', '=', userId)
      .executeTakeFirstOrThrow()
  ).password_hash
const signIn = ({ email, password }: { email: string; password: string }) =>
  backend.call(authorize, { body: { email, password } })

test.each([
  ['the password was changed', async () => ({ password_hash: await hashPassword(good, 'test') })],
  ['the user was disabled', async () => ({ disabled_at: new Date(backend.clock.now()) })],
])('a sign-in with the old password ends in no session if %s meanwhile', async (_what, changed) => {
  const user = await backend.signIn({ role: 'viewer' })
  const change = await changed()
  const [answer] = await whileLocked(user.userId, [() => signIn(user)], async (tx) => {
    await setPerson(tx, user.userId, change)
    await endSessions(tx, user.userId)
  })
  expect([answer!.status, answer!.problem?.error]).toEqual([401, 'Invalid email or password'])
  expect(await openSessions(user.userId)).toBe(0)
})

test('a password that two sign-ins hash anew at the same moment signs in both', async () => {
  const user = await backend.signIn({ role: 'viewer' })
  const weak = await hash(user.password, {
    algorithm: 2,
    parallelism: 1,
    memoryCost: 32,
    timeCost: 1,
  })
  await db
    .updateTable('person')
    .set({ password_hash: weak })
    .where('id', '=', user.userId)
    .execute()
  const answers = await whileLocked(
    user.userId,
    [() => signIn(user), () => signIn(user)],
    async () => undefined,
  )
  expect(answers.map(({ status }) => status)).toEqual([200, 200])
  expect(await hashOf(user.userId)).not.toBe(weak)
})

test('a change of the password does not replace one that was set with a link meanwhile', async () => {
  const user = await backend.signIn({ role: 'viewer' })
  const password_hash = await hashPassword(good, 'test')
  const body = { password: user.password, new_password: 'another long password' }
  const [answer] = await whileLocked(
    user.userId,
    [() => user.call(passwordChange, { body })],
    async (tx) => {
      await setPerson(tx, user.userId, { password_hash })
      await endSessions(tx, user.userId)
    },
  )
  expect([answer!.status, answer!.problem?.code]).toEqual([401, 'session_expired'])
  expect(await hashOf(user.userId)).toBe(password_hash)
})

test('an API token is not created if the session of its user was ended meanwhile', async () => {
  const user = await backend.signIn({ role: 'viewer' })
  const create = () =>
    user.call(apiTokenCreate, {
      body: { name: 'late', scopes: ['servers:read'], lifetime_days: 1 },
    })
  const [refused] = await whileLocked(user.userId, [create], (tx) => endSessions(tx, user.userId))
  expect([refused!.status, refused!.problem?.code]).toEqual([401, 'session_expired'])
  const tokens = await db
    .selectFrom('api_token')
    .select('id')
    .where('person_id', '=', user.userId)
    .execute()
  expect(tokens).toEqual([])
})

test('of two changes of the password at the same moment, the second needs the new one', async () => {
  const user = await backend.signIn({ role: 'viewer' })
  const change = (new_password: string) => () =>
    user.call(passwordChange, { body: { password: user.password, new_password } })
  const answers = await whileLocked(
    user.userId,
    [change(good), change('another long password')],
    async () => undefined,
  )
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([204, 422])
})

test.each<[string, (boss: SignedIn, person: SignedIn) => Promise<{ status: number }>]>([
  [
    'adds a user',
    (boss) =>
      boss.call(userCreate, { body: { email: 'late@example.com', name: 'Late', role: 'admin' } }),
  ],
  [
    'gives a role',
    (boss, { userId: id }) => boss.call(userUpdate, { params: { id }, body: { role: 'admin' } }),
  ],
  [
    'removes second factors',
    (boss, { userId: id }) => boss.call(userResetSecondFactor, { params: { id } }),
  ],
  ['clears failed sign-ins', (boss, { userId: id }) => boss.call(userUnlock, { params: { id } })],
  ['removes a user', (boss, { userId: id }) => boss.call(userRemove, { params: { id } })],
])('an admin who is disabled at the same moment no longer %s', async (_what, call) => {
  const [admin, leaving] = [await backend.signIn(), await backend.signIn()]
  const person = await backend.signIn({ role: 'viewer' })
  const people = async () =>
    (await admin.call(userList, { query: { per_page: 1000 } })).answer!.items.map(
      ({ email, role }) => `${email} ${role}`,
    )
  const before = await people()
  const { answer } = await db.transaction().execute(async (tx) => {
    await setPerson(tx, leaving.userId, { disabled_at: new Date(backend.clock.now()) })
    const called = call(leaving, person)
    await Promise.race([called, untilWaiting(1)])
    return { answer: called }
  })
  expect((await answer).status).toBe(403)
  expect(await people()).toEqual(before)
})
