import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { auditList } from '#contract/audit.ts'
import { totpBegin, totpConfirm } from '#contract/people/second-factor.ts'
import { authorize, passwordReset, sessionGet } from '#contract/sessions.ts'
import { userUpdate } from '#contract/users.ts'
import { codeOf } from '../domains/sessions/testing/authenticator.ts'
import { startBackend } from '../testing/backend.ts'
import { testClock } from '../testing/clock.ts'
import { temporaryFolder } from '../testing/folder.ts'
import { urlOf } from '../testing/postgres.ts'
import { runCommand } from '../testing/surroundings.ts'
import { userRecover } from './user-recover.ts'

// The command uses the system's clock, by which the sessions of a test in the past are over.
const backend = await startBackend({ clock: testClock(Date.now()) })
const admin = await backend.signIn()
const settings = {
  STEELYARD_DATA: backend.config.dataFolder,
  DATABASE_URL: urlOf(backend.database.connection),
}
const recover = (args: string[], environment: Record<string, string> = {}) =>
  runCommand((around) => userRecover(args, around), { ...settings, ...environment })
const signIn = (email: string, password: string) =>
  backend.call(authorize, { body: { email, password } })
/** Entries of the audit log about a user: the action and who did it. */
async function audited(userId: string): Promise<{ text: string; entries: string[] }> {
  await backend.publish()
  const { answer, text } = await admin.call(auditList, {
    query: { target: userId, per_page: 200 },
  })
  return { text, entries: answer!.items.map(({ action, actor }) => `${action} by ${actor}`) }
}
/** Number of all changes that were recorded. */
async function changes(): Promise<number> {
  await backend.publish()
  return (await admin.call(auditList, { query: {} })).answer!.total
}

test('user recover prints a link that sets a password once, clears the failed sign-ins, and names itself in the audit log', async () => {
  const user = await backend.signIn()
  for (let n = 0; n < 6; n++) await signIn(user.email, 'not the password')
  expect((await signIn(user.email, user.password)).status).toBe(429)
  const { code, out, err } = await recover([` ${user.email.toUpperCase()}`])
  expect([code, err]).toEqual([0, ''])
  expect(out).toContain('Failed sign-ins that were cleared: 5\n')
  expect(out).toContain('If you reach Steelyard at another address than http://127.0.0.1:8080')
  // The old password and the sessions stay valid until the link is used.
  expect((await user.call(sessionGet)).status).toBe(200)
  expect((await signIn(user.email, user.password)).status).toBe(200)
  const token = /^http:\/\/127\.0\.0\.1:8080\/auth\/reset#(\S+)$/m.exec(out)![1]!
  const body = { token, new_password: 'correct horse battery' }
  expect((await backend.call(passwordReset, { body })).status).toBe(204)
  expect((await signIn(user.email, body.new_password)).status).toBe(200)
  expect((await backend.call(passwordReset, { body })).status).toBe(409)
  const { text, entries } = await audited(user.userId)
  expect(entries).toEqual(
    expect.arrayContaining([
      'user.password_reset_offered by Steelyard, by a command on its machine',
      'user.unlocked by Steelyard, by a command on its machine',
    ]),
  )
  expect(text).not.toContain(token)
})

test('user recover removes the second factor and ends the sessions only with --reset-second-factor', async () => {
  const user = await backend.signIn()
  const { secret } = (await user.call(totpBegin)).answer!
  await user.call(totpConfirm, { body: { code: codeOf(secret, backend.clock.now()) } })
  const kept = await recover([user.email])
  expect(kept.out).toContain(
    `The second factor stays. If it is lost: steelyard user recover ${user.email} --reset-second-factor`,
  )
  expect((await signIn(user.email, user.password)).problem?.code).toBe('second_factor_needed')
  expect((await user.call(sessionGet)).status).toBe(200)
  const removed = await recover(['--reset-second-factor', user.email], {
    STEELYARD_PUBLIC_URL: 'https://steelyard.example.com',
  })
  expect(removed).toMatchObject({ code: 0, err: '' })
  expect(removed.out).toContain('https://steelyard.example.com/auth/reset#')
  expect(removed.out).not.toContain('another address')
  expect(removed.out).toContain('The second factor is removed, and the sessions have ended\n')
  // Processes learn of it by a notification.
  await expect.poll(async () => (await user.call(sessionGet)).status).toBe(401)
  expect((await signIn(user.email, user.password)).status).toBe(200)
  expect((await audited(user.userId)).entries).toContain(
    'user.second_factor_reset by Steelyard, by a command on its machine',
  )
  expect((await recover([user.email, '--reset-second-factor'])).out).toContain(
    'There was no second factor to remove',
  )
})

test('user recover changes nothing for an unknown email, another role and a disabled administrator, and names who can help', async () => {
  const operator = await backend.signIn({ role: 'operator' })
  const disabled = await backend.signIn()
  await admin.call(userUpdate, { params: { id: disabled.userId }, body: { disabled: true } })
  const before = await changes()
  const refusals = [
    ['nobody@example.com', 5, 'There is no user nobody@example.com. Nothing was changed.'],
    [operator.email, 6, `${operator.email} has the role operator, and this command helps`],
    [disabled.email, 6, `${disabled.email} is disabled. Nothing was changed.`],
  ] as const
  for (const [email, code, why] of refusals) {
    const refused = await recover([email, '--reset-second-factor'])
    expect([refused.code, refused.out]).toEqual([code, ''])
    expect(refused.err).toContain(why)
    expect(refused.err).toContain(admin.email)
    expect(refused.err.replace(why, '')).not.toContain(disabled.email)
  }
  expect(await changes()).toBe(before)
  expect((await operator.call(sessionGet)).status).toBe(200)
})

test('user recover says that passwords are switched off, and what to set', async () => {
  const { code, out } = await recover([admin.email], {
    STEELYARD_LOCAL_SIGN_IN: '0',
    STEELYARD_OIDC_ISSUER: 'https://id.example.com',
    STEELYARD_OIDC_CLIENT_ID: 'steelyard',
  })
  expect(code).toBe(0)
  expect(out).toContain('start Steelyard with STEELYARD_LOCAL_SIGN_IN=1')
})

test('user recover refuses wrong usage, another key file and a folder without a database, which it does not create', async () => {
  for (const args of [[], ['--reset-second-factor'], ['a@example.com', 'b@example.com'], ['a']])
    expect((await recover(args)).code).toBe(2)
  expect(await recover([admin.email], { STEELYARD_KEY_FILE: '/nonexistent/key' })).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringContaining('/nonexistent/key') as string,
  })
  const folder = path.join(temporaryFolder('recover'), 'data')
  expect(
    await runCommand((around) => userRecover([admin.email], around), { STEELYARD_DATA: folder }),
  ).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringContaining(`has not run with the data folder ${folder}`) as string,
  })
  expect(existsSync(folder)).toBe(false)
  // As if Steelyard had run with this folder, and with DATABASE_URL.
  mkdirSync(folder, { mode: 0o700 })
  writeFileSync(path.join(folder, 'process-id'), '1')
  expect(
    await runCommand((around) => userRecover([admin.email], around), {
      STEELYARD_DATA: folder,
      STEELYARD_KEY_FILE: backend.config.keyFile,
    }),
  ).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringContaining('set DATABASE_URL if Steelyard runs with it') as string,
  })
  expect(existsSync(path.join(folder, 'postgres'))).toBe(false)
})

test('user recover leaves an older database to the start of Steelyard', async () => {
  const own = await startBackend()
  const user = await own.signIn()
  await sql`delete from migration where number = (select max(number) from migration)`.execute(
    own.platform.db,
  )
  expect(
    await recover([user.email], {
      STEELYARD_DATA: own.config.dataFolder,
      DATABASE_URL: urlOf(own.database.connection),
    }),
  ).toMatchObject({ code: 1, out: '', err: expect.stringContaining('start it once') as string })
})

test('without any administrator, and without any user, user recover says what to do', async () => {
  const own = await startBackend()
  const user = await own.signIn()
  const here = {
    STEELYARD_DATA: own.config.dataFolder,
    DATABASE_URL: urlOf(own.database.connection),
  }
  await own.platform.db.updateTable('person').set({ role: 'viewer' }).execute()
  expect((await recover([user.email], here)).err).toContain('restore a backup')
  await own.platform.db.deleteFrom('person').execute()
  expect((await recover([user.email], here)).err).toContain('steelyard user add --first EMAIL')
})
