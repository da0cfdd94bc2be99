import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { describe, expect, test } from 'vitest'
import { Problem } from '#contract/errors.ts'
import { authorize, authorizeLogout } from '#contract/sessions.ts'
import { installationGet, userCreate } from '#contract/users.ts'
import { startApi, type TestApi } from '../testing/api.ts'
import { startCli } from '../testing/cli.ts'
import { id } from '../testing/things.ts'

const letIn = (api: TestApi) =>
  api.on(authorize, ({ body }) => {
    if (body.password !== '  pass word  ')
      throw new Problem('invalid_credentials', 'Invalid email or password')
    return {
      userData: { id: id(9), email: body.email, name: 'A' },
      accessToken: 'access-1',
      refreshToken: 'refresh-1',
    }
  })

describe('login', () => {
  test('login reads the password from standard input and removes only the last line ending', async () => {
    const api = await startApi()
    const cli = await startCli()
    letIn(api)
    const ran = await cli.run(`login a@example.com --password-stdin --url ${api.url}`, {
      readAll: async () => '  pass word  \n',
    })
    expect(ran).toEqual({ exit: 0, out: '', err: `Signed in to ${api.url} as a@example.com\n` })
    expect(await cli.sessions.read(api.url)).toEqual({
      email: 'a@example.com',
      access_token: 'access-1',
      refresh_token: 'refresh-1',
    })
    expect(await cli.sessions.current()).toBe(api.url)
    expect((await stat(cli.sessions.path)).mode & 0o777).toBe(0o600)
    expect((await stat(dirname(cli.sessions.path))).mode & 0o777).toBe(0o700)
  })

  test('login prompts for missing values, for the password without echo', async () => {
    const api = await startApi()
    const cli = await startCli()
    letIn(api)
    const asked: [string, boolean][] = []
    const ask = async (question: string, { secret }: { secret: boolean }) => {
      asked.push([question, secret])
      return secret ? '  pass word  ' : 'a@example.com'
    }
    expect(await cli.run(`login --url ${api.url}`, { ask })).toMatchObject({ exit: 0 })
    expect(asked).toEqual([
      ['Email: ', false],
      ['Password: ', true],
    ])
  })

  test('if login fails, it prints the error and stores nothing', async () => {
    const api = await startApi()
    const cli = await startCli()
    letIn(api)
    expect(
      await cli.run(`login a@example.com --password-stdin --url ${api.url}`, {
        readAll: async () => 'wrong',
      }),
    ).toMatchObject({
      exit: 3,
      err: 'Invalid email or password\n',
    })
    expect(await cli.run(`login a@example.com --url ${api.url}`)).toMatchObject({
      exit: 2,
      err: expect.stringContaining('--password-stdin') as string,
    })
    expect(
      await cli.run(`login not-an-email --password-stdin --url ${api.url}`, {
        readAll: async () => 'x',
      }),
    ).toMatchObject({
      exit: 2,
      err: expect.stringContaining('Enter an email address') as string,
    })
    expect(
      await cli.run('login a@example.com --password-stdin --url http://steelyard.example.com', {
        readAll: async () => 'x',
      }),
    ).toMatchObject({ exit: 2 })
    expect(await cli.sessions.current()).toBeNull()
    expect(api.callsOf(authorize)).toHaveLength(1)
  })

  test('login is not retried while sign-ins are throttled', async () => {
    const api = await startApi()
    const cli = await startCli()
    api.on(authorize, () => {
      throw new Problem('throttled', 'Too many tries', undefined, 1)
    })
    expect(
      await cli.run(`login a@example.com --password-stdin --url ${api.url}`, {
        readAll: async () => 'x',
      }),
    ).toMatchObject({
      exit: 7,
      err: 'Too many tries\n',
    })
    expect(api.callsOf(authorize)).toHaveLength(1)
  })
})

describe('logout', () => {
  test('logout ends the session on the server and locally', async () => {
    const api = await startApi()
    const cli = await startCli(api)
    api.on(authorizeLogout, () => undefined)
    expect(await cli.run('logout')).toMatchObject({ exit: 0, err: `Signed out of ${api.url}\n` })
    expect(api.callsOf(authorizeLogout)[0]!.body).toEqual({ refresh_token: 'refresh-1' })
    expect(await cli.sessions.read(api.url)).toBeNull()
    expect(await cli.run(`logout --url ${api.url}`)).toMatchObject({
      exit: 0,
      err: `Not signed in to ${api.url}\n`,
    })
  })

  test("logout deletes the local session even if the server can't be reached", async () => {
    const api = await startApi()
    const cli = await startCli(api)
    api.on(authorizeLogout, () => {
      throw new Problem('unavailable', 'The database is away')
    })
    expect(await cli.run('logout')).toMatchObject({
      exit: 7,
      err: expect.stringContaining('The session is deleted on this machine') as string,
    })
    expect(await cli.sessions.read(api.url)).toBeNull()
  })
})

test("version prints the versions of client and server, or only the client's if the server does not answer", async () => {
  const api = await startApi()
  const cli = await startCli()
  const sign_in = { password: true, passkeys: { rp_id: null, reason: null }, provider: null }
  api.on(installationGet, () => ({
    version: '0.0.14',
    simulated: true,
    waitlist_url: null,
    sign_in,
  }))
  const ran = await cli.run(`version --json --url ${api.url}`)
  expect(JSON.parse(ran.out)).toEqual({
    client: expect.stringMatching(/^\d+\.\d+\.\d+$/) as string,
    server: '0.0.14',
    simulated: true,
    url: api.url,
  })
  expect((await cli.run('version --url http://127.0.0.1:9')).out).toContain('not reached')
})

test('commands of the server program are run by that program, and fail in the standalone client', async () => {
  const cli = await startCli()
  const handed: (readonly string[])[] = []
  const program = async (args: readonly string[]) => {
    handed.push(args)
    return 5
  }
  expect(await cli.run('user add --first a@example.com', { program })).toMatchObject({ exit: 5 })
  expect(await cli.run('doctor --json', { program })).toMatchObject({ exit: 5 })
  await cli.run('user recover a@example.com', { program })
  await cli.run('user recover a@example.com --reset-second-factor', { program })
  expect(handed).toEqual([
    ['user', 'add', '--first', 'a@example.com'],
    ['doctor', '--json'],
    ['user', 'recover', 'a@example.com'],
    ['user', 'recover', 'a@example.com', '--reset-second-factor'],
  ])
  expect(await cli.run('doctor')).toMatchObject({
    exit: 2,
    err: expect.stringContaining('on the machine of Steelyard') as string,
  })
  expect(await cli.run('user add --first a@example.com --role viewer', { program })).toMatchObject({
    exit: 2,
  })
  expect(handed).toHaveLength(4)
  expect((await cli.run('--help', { program })).out).toContain('doctor')
  expect((await cli.run('--help')).out).not.toContain('doctor')
})

test('user add defaults to the role with the fewest rights, and asks for the password twice', async () => {
  const api = await startApi()
  const cli = await startCli(api)
  api.on(userCreate, ({ body }) => ({
    id: id(8),
    email: body.email,
    name: body.name,
    role: body.role,
    created_at: '2026-11-20T08:00:00.000Z',
    last_sign_in_at: null,
    disabled_at: null,
    has_password: true,
    has_provider: false,
    has_second_factor: false,
    version: 1,
  }))
  const typing = (...texts: string[]) => ({ ask: async () => texts.shift() ?? null })
  expect(
    await cli.run('user add grace@example.com', typing('a long password', 'a long pasword')),
  ).toMatchObject({ exit: 2, err: 'The two passwords differ\n' })
  expect(await cli.run('user add grace@example.com', typing('short', 'short'))).toMatchObject({
    exit: 2,
    err: 'password: Password must be at least 12 characters\n',
  })
  expect(api.calls).toHaveLength(0)
  expect(
    await cli.run('user add grace@example.com', typing('a long password', 'a long password')),
  ).toMatchObject({
    exit: 0,
    out: 'grace@example.com can sign in now, as viewer\n',
  })
  expect(api.callsOf(userCreate)[0]!.body).toEqual({
    email: 'grace@example.com',
    name: 'grace',
    role: 'viewer',
    password: 'a long password',
  })
})
