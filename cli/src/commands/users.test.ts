import { expect, test } from 'vitest'
import {
  authorize,
  deviceCookie,
  passwordChange,
  secureName,
  type Session,
  sessionEnd,
  sessionList,
} from '#contract/sessions.ts'
import {
  type Person,
  userList,
  userRemove,
  userResetPassword,
  userUnlock,
  userUpdate,
} from '#contract/users.ts'
import { startApi } from '../testing/api.ts'
import { startCli } from '../testing/cli.ts'
import { id, pageOf } from '../testing/things.ts'

const at = '2026-11-20T08:00:00.000Z'
const grace: Person = {
  id: id(9),
  email: 'grace@example.com',
  name: 'Grace',
  role: 'viewer',
  created_at: at,
  last_sign_in_at: null,
  disabled_at: null,
  has_password: true,
  has_provider: false,
  has_second_factor: false,
  version: 1,
}

async function signedIn() {
  const api = await startApi()
  const cli = await startCli(api)
  api.on(userList, () => pageOf([grace, { ...grace, id: id(8), email: 'other-grace@example.com' }]))
  api.on(userUpdate, ({ body }) => ({
    ...grace,
    ...(body.name && { name: body.name }),
    ...(body.role && { role: body.role }),
    disabled_at: body.disabled ? at : null,
  }))
  return { api, cli }
}

test('a user is selected by email and changed', async () => {
  const { api, cli } = await signedIn()
  expect((await cli.run('user role Grace@example.com operator')).out).toBe(
    'grace@example.com is operator now\n',
  )
  expect((await cli.run(['user', 'rename', 'grace@example.com', 'Grace Hopper'])).out).toBe(
    'grace@example.com is called Grace Hopper now\n',
  )
  expect((await cli.run('user disable grace@example.com')).out).toBe(
    'grace@example.com cannot sign in any more\n',
  )
  expect((await cli.run('user enable grace@example.com')).out).toBe(
    'grace@example.com can sign in again\n',
  )
  expect(api.callsOf(userUpdate).map(({ params, body }) => [params, body])).toEqual([
    [{ id: id(9) }, { role: 'operator' }],
    [{ id: id(9) }, { name: 'Grace Hopper' }],
    [{ id: id(9) }, { disabled: true }],
    [{ id: id(9) }, { disabled: false }],
  ])
  expect(await cli.run('user role grace@example.com king')).toMatchObject({
    exit: 2,
    err: expect.stringContaining('king is not a role') as string,
  })
  expect(await cli.run('user show race@example.com')).toMatchObject({
    exit: 5,
    err: 'There is no user race@example.com\n',
  })
  expect((await cli.run('user show grace@example.com')).out).toMatch(/^Status +active$/m)
})

test('removing a user requires typing the email', async () => {
  const { api, cli } = await signedIn()
  api.on(userRemove, () => undefined)
  expect(await cli.run('user remove grace@example.com')).toMatchObject({ exit: 2 })
  expect(await cli.run('user remove grace@example.com', { ask: async () => 'yes' })).toMatchObject({
    exit: 1,
  })
  expect(api.callsOf(userRemove)).toHaveLength(0)
  expect(
    await cli.run('user remove grace@example.com', { ask: async () => 'grace@example.com' }),
  ).toMatchObject({ exit: 0 })
  expect(api.callsOf(userRemove)).toHaveLength(1)
})

test('user reset-password prints a link to set a password, and user unlock unlocks the account', async () => {
  const { api, cli } = await signedIn()
  api.on(userResetPassword, () => ({
    url: 'https://steelyard.example.com/auth/reset#abc',
    expires_at: at,
  }))
  api.on(userUnlock, () => ({ failures_cleared: 7 }))
  expect((await cli.run('user reset-password grace@example.com')).out).toMatch(
    /^Link +https:\/\/steelyard\.example\.com\/auth\/reset#abc$/m,
  )
  expect((await cli.run('user unlock grace@example.com')).out).toBe(
    'grace@example.com is unlocked: 7 failed sign-ins were cleared\n',
  )
})

test('a user can list and end their own sessions, and those of other users', async () => {
  const { api, cli } = await signedIn()
  const session: Session = {
    id: id(3),
    user: { id: id(9), email: grace.email, name: 'Grace' },
    method: 'password',
    created_at: at,
    last_used_at: at,
    expires_at: at,
    ip: '10.0.0.1',
    user_agent: 'curl',
    current: true,
  }
  api.on(sessionList, () => pageOf([session]))
  api.on(sessionEnd, () => undefined)
  expect((await cli.run('session list')).out).toMatch(/grace@example\.com +10\.0\.0\.1 +this one/)
  await cli.run('session list --user grace@example.com')
  await cli.run('session list --all')
  expect(api.callsOf(sessionList).map(({ query }) => query)).toEqual([
    {},
    { user_id: id(9) },
    { user_id: 'all' },
  ])
  expect(await cli.run('session list --all --user grace@example.com')).toMatchObject({ exit: 2 })
  expect((await cli.run(`session end ${id(3)}`)).out).toBe('The session has ended\n')
  expect(await cli.run('session end mine')).toMatchObject({
    exit: 2,
    err: expect.stringContaining('mine is not the id of a session') as string,
  })
})

test('users change their own password, entered at the terminal or on standard input', async () => {
  const { api, cli } = await signedIn()
  api.on(passwordChange, () => undefined)
  const typing = (...texts: string[]) => ({ ask: async () => texts.shift() ?? null })
  expect(
    await cli.run('password', typing('the old one', 'a long password', 'a long pasword')),
  ).toMatchObject({ exit: 2, err: 'The two passwords differ\n' })
  expect(await cli.run('password')).toMatchObject({ exit: 2 })
  expect(
    await cli.run('password', typing('the old one', 'a long password', 'a long password')),
  ).toMatchObject({ exit: 0, out: '' })
  expect(
    await cli.run('password --password-stdin', { readAll: async () => 'only one line\n' }),
  ).toMatchObject({ exit: 2 })
  expect(
    await cli.run('password --password-stdin', {
      readAll: async () => ' old \nanother password\n',
    }),
  ).toMatchObject({ exit: 0 })
  expect(api.callsOf(passwordChange).map(({ body }) => body)).toEqual([
    { password: 'the old one', new_password: 'a long password' },
    { password: ' old ', new_password: 'another password' },
  ])
})

test.each([deviceCookie, secureName(deviceCookie)])(
  'the device cookie %s is kept after logging out, and is sent only with a sign-in',
  async (name) => {
    const api = await startApi()
    const cli = await startCli()
    api.tokens.add('access-1')
    api.on(userList, () => pageOf([grace]))
    api.on(authorize, (_input, answer) => {
      answer.setHeader('set-cookie', `${name}=known.here; Path=/v1/authorize; HttpOnly`)
      return {
        userData: { id: id(9), email: grace.email, name: 'Grace' },
        accessToken: 'access-1',
        refreshToken: 'refresh-1',
      }
    })
    const login = () =>
      cli.run(`login grace@example.com --password-stdin --url ${api.url}`, {
        readAll: async () => 'a long password\n',
      })
    expect(await login()).toMatchObject({ exit: 0 })
    await cli.run('user list')
    await cli.sessions.change(api.url, async () => null)
    await login()
    expect(api.calls.map(({ operation, headers }) => [operation, headers.cookie])).toEqual([
      ['authorize', undefined],
      ['userList', undefined],
      ['authorize', `${name}=known.here`],
    ])
  },
)
