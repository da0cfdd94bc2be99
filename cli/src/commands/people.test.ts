import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { auditCsv, auditList, auditNdjson, auditVerify } from '#contract/audit.ts'
import { clusterKubeconfig, clusterList } from '#contract/clusters/clusters.ts'
import { Problem } from '#contract/errors.ts'
import {
  type ApiToken,
  apiTokenCreate,
  apiTokenList,
  apiTokenRevoke,
} from '#contract/people/api-tokens.ts'
import {
  invitationCreate,
  invitationList,
  invitationRemove,
  waitlistInvite,
  waitlistList,
} from '#contract/people/invitations.ts'
import { sessionProve } from '#contract/people/profile.ts'
import { authorize, authorizeRefresh, sessionEndAll } from '#contract/sessions.ts'
import { userCreate, userList, userResetSecondFactor } from '#contract/users.ts'
import { startApi } from '../testing/api.ts'
import { startCli } from '../testing/cli.ts'
import { id, pageOf } from '../testing/things.ts'

const at = '2026-11-20T08:00:00.000Z'
const token: ApiToken = {
  id: id(1),
  name: 'ci',
  status: 'usable',
  user: { id: id(9), email: 'grace@example.com', name: 'Grace' },
  scopes: ['servers:read'],
  created_at: at,
  expires_at: '2027-02-18T08:00:00.000Z',
  last_used_at: null,
  last_used_ip: null,
}
const invitation = {
  id: id(2),
  email: 'ada@example.com',
  name: 'ada',
  role: 'operator' as const,
  invited_by: null,
  created_at: at,
  expires_at: at,
}
const url = 'https://steelyard.example.com/auth/invite#abc'

async function signedIn() {
  const api = await startApi()
  return { api, cli: await startCli(api) }
}

test('API tokens are created with scopes, listed, and revoked by name', async () => {
  const { api, cli } = await signedIn()
  api.on(apiTokenCreate, ({ body }) => ({ ...token, ...body, token: 'sy-api-secret' }))
  api.on(apiTokenList, () => pageOf([token]))
  api.on(apiTokenRevoke, () => undefined)
  const made = await cli.run('api-token create ci --scope servers:read,clusters:read --days 30')
  expect(made.out).toMatch(/^Token +sy-api-secret$/m)
  expect(api.callsOf(apiTokenCreate)[0]!.body).toEqual({
    name: 'ci',
    scopes: ['servers:read', 'clusters:read'],
    lifetime_days: 30,
  })
  expect(await cli.run('api-token create ci')).toMatchObject({
    exit: 2,
    err: expect.stringContaining('Give at least one --scope') as string,
  })
  expect(await cli.run('api-token create ci --scope everything')).toMatchObject({ exit: 2 })
  expect((await cli.run('api-token list')).out).toMatch(/^ci +usable +servers:read .*never/m)
  await cli.run('api-token list --all')
  expect(api.callsOf(apiTokenList).at(-1)!.query).toEqual({ user_id: 'all' })
  expect(await cli.run('api-token revoke ci')).toMatchObject({ exit: 0, out: 'ci is revoked\n' })
  expect(api.callsOf(apiTokenRevoke)[0]!.params).toEqual({ id: id(1) })
})

test('an API token in STEELYARD_TOKEN is sent, and no password is asked for', async () => {
  const { api, cli } = await signedIn()
  api.tokens.add('sy-api-token')
  api.on(userList, () => pageOf([]))
  cli.env['STEELYARD_TOKEN'] = 'sy-api-token'
  expect(await cli.run('user list')).toMatchObject({ exit: 0 })
  expect(api.callsOf(userList)[0]!.headers.authorization).toBe('Bearer sy-api-token')
})

test('login asks for the code of an account with a second factor', async () => {
  const api = await startApi()
  const cli = await startCli()
  api.on(authorize, ({ body }) => {
    if (body.code === undefined)
      throw new Problem(
        'second_factor_needed',
        'Enter the code of your authenticator app, or enter a recovery code.',
      )
    return {
      userData: { id: id(9), email: body.email, name: 'A' },
      accessToken: 'access-1',
      refreshToken: 'refresh-1',
    }
  })
  const line = `login a@example.com --url ${api.url}`
  const typed = ['a long password', '123 456']
  expect(await cli.run(line, { ask: async () => typed.shift() ?? null })).toMatchObject({ exit: 0 })
  expect(api.callsOf(authorize).map(({ body }) => (body as { code?: string }).code)).toEqual([
    undefined,
    '123 456',
  ])
  const without = await cli.run(`${line} --password-stdin`, {
    readAll: async () => 'a long password\n',
  })
  expect(without).toMatchObject({
    exit: 2,
    err: expect.stringContaining('steelyard api-token create') as string,
  })
})

test('a command that needs a proof asks for the password and goes on; a wrong password and a missing terminal end it', async () => {
  const { api, cli } = await signedIn()
  let proved = false
  api.on(clusterList, () => pageOf([]))
  api.on(clusterKubeconfig, () => {
    if (!proved) throw new Problem('proof_needed', 'Confirm that it is you.')
    return 'kind: Config\n'
  })
  api.on(sessionProve, ({ body }) => {
    if (body.password !== 'right password')
      throw new Problem('invalid', 'This is not your password', {
        password: 'This is not your password',
      })
    proved = true
    return { proof_until: at, return_to: null }
  })
  const line = `cluster kubeconfig ${id(5)}`
  expect(await cli.run(line)).toMatchObject({
    exit: 6,
    out: '',
    err: expect.stringContaining('steelyard login') as string,
  })
  expect(await cli.run(line, { ask: async () => 'wrong' })).toMatchObject({
    exit: 2,
    out: '',
    err: expect.stringContaining('This is not your password') as string,
  })
  expect(await cli.run(line, { ask: async () => 'right password' })).toMatchObject({
    exit: 0,
    out: 'kind: Config\n',
  })
})

test('invitations and the waitlist: the link is printed, and people are named by email', async () => {
  const { api, cli } = await signedIn()
  const waiting = {
    id: id(3),
    name: 'Wanda',
    company: '',
    email: 'wanda@example.com',
    status: 'waiting' as const,
    created_at: at,
    invited_at: null,
  }
  api.on(invitationCreate, ({ body }) => ({ ...invitation, ...body, url }))
  api.on(invitationList, () => pageOf([invitation]))
  api.on(invitationRemove, () => undefined)
  api.on(waitlistList, () => pageOf([waiting]))
  api.on(waitlistInvite, ({ body }) => ({ ...invitation, email: waiting.email, ...body, url }))
  expect((await cli.run('invitation create ada@example.com --role operator')).out).toMatch(
    /^Link +https:\/\/steelyard\.example\.com\/auth\/invite#abc$/m,
  )
  expect(api.callsOf(invitationCreate)[0]!.body).toEqual({
    email: 'ada@example.com',
    name: 'ada',
    role: 'operator',
  })
  expect((await cli.run('invitation list')).out).toContain('ada@example.com')
  expect((await cli.run('invitation withdraw Ada@Example.com')).out).toBe(
    'The invitation of Ada@Example.com is withdrawn\n',
  )
  expect((await cli.run('waitlist list')).out).toMatch(/wanda@example\.com/)
  expect((await cli.run('waitlist invite wanda@example.com')).out).toMatch(
    /^For +wanda@example\.com$/m,
  )
  expect(api.callsOf(waitlistInvite)[0]).toMatchObject({
    params: { id: id(3) },
    body: { role: 'viewer' },
  })
  expect(await cli.run('waitlist invite nobody@example.com')).toMatchObject({ exit: 5 })
})

test('a user without a password is added, and a second factor is reset only after the email was typed', async () => {
  const { api, cli } = await signedIn()
  const person = {
    id: id(8),
    email: 'ada@example.com',
    name: 'ada',
    role: 'viewer' as const,
    created_at: at,
    last_sign_in_at: null,
    disabled_at: null,
    has_password: false,
    has_provider: false,
    has_second_factor: true,
    version: 1,
  }
  api.on(userCreate, () => person)
  api.on(userList, () => pageOf([person]))
  api.on(userResetSecondFactor, () => undefined)
  expect((await cli.run('user add ada@example.com --no-password')).out).toBe(
    'ada@example.com is added without a password, as viewer\n',
  )
  expect(api.callsOf(userCreate)[0]!.body).toEqual({
    email: 'ada@example.com',
    name: 'ada',
    role: 'viewer',
  })
  expect((await cli.run('user show ada@example.com')).out).toMatch(/^Second factor +yes$/m)
  expect(await cli.run('user reset-second-factor ada@example.com')).toMatchObject({ exit: 2 })
  expect(
    await cli.run('user reset-second-factor ada@example.com', {
      ask: async () => 'ada@example.com',
    }),
  ).toMatchObject({ exit: 0 })
  expect(api.callsOf(userResetSecondFactor)).toHaveLength(1)
})

test('other sessions are ended together', async () => {
  const { api, cli } = await signedIn()
  api.on(sessionEndAll, () => ({ ended: 3 }))
  expect((await cli.run('session end-others')).out).toBe('3 sessions ended\n')
})

test('the audit log is listed with who did what, and control characters in names do not reach the terminal', async () => {
  const { api, cli } = await signedIn()
  api.on(auditList, () =>
    pageOf([
      {
        seq: 2,
        at,
        actor: 'grace@example.com',
        session_id: id(1),
        by_token: true,
        ip: '10.0.0.1',
        action: 'server.renamed',
        target: { kind: 'server', id: id(4), name: 'calm\u001b[31m' },
        result: 'ok',
        before: null,
        after: null,
        request_id: null,
        hash: '00',
        shortened: false,
      },
    ]),
  )
  const { out } = await cli.run('audit list --action server.renamed')
  expect(out).toMatch(/grace@example\.com \(API token\) +server\.renamed/)
  expect(out).not.toContain('\u001b')
  expect(api.callsOf(auditList)[0]!.query).toEqual({ action: 'server.renamed' })
})

describe('the export and the verification of the audit log', () => {
  const entries = 'seq,at,actor\n1,2026-11-20T08:00:00.000Z,grace@example.com\n'

  test('an export is written to a file that only the user can read, with the filters and the format', async () => {
    const { api, cli } = await signedIn()
    api.on(auditCsv, () => entries)
    api.on(auditNdjson, () => '{"seq":1}\n')
    expect((await cli.run('audit export --about user --result refused')).out).toBe(entries)
    expect(api.callsOf(auditCsv)[0]!.query).toEqual({ about: 'user', result: 'refused' })
    expect((await cli.run('audit export --format ndjson')).out).toBe('{"seq":1}\n')
    const file = join(cli.folder, 'audit.csv')
    expect(await cli.run(`audit export --output ${file}`)).toMatchObject({
      exit: 0,
      out: '',
      err: `Written to ${file}\n`,
    })
    expect(readFileSync(file, 'utf8')).toBe(entries)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(await cli.run(`audit export --output ${file}`)).toMatchObject({
      exit: 6,
      err: expect.stringContaining('--force') as string,
    })
    expect(await cli.run('audit export --format xml')).toMatchObject({ exit: 2 })
  })

  test('an export that is cut leaves no part of it, and an old file stays', async () => {
    const { api, cli } = await signedIn()
    api.on(auditCsv, (_input, answer) => {
      answer.writeHead(200, { 'content-type': 'text/csv' })
      answer.write(entries, () => answer.destroy())
      return 'done'
    })
    const file = join(cli.folder, 'audit.csv')
    expect(await cli.run(`audit export --output ${file}`)).toMatchObject({
      exit: 7,
      err: expect.stringContaining('the connection was lost') as string,
    })
    expect(existsSync(file)).toBe(false)
    writeFileSync(file, 'the old export')
    expect(await cli.run(`audit export --output ${file} --force`)).toMatchObject({ exit: 7 })
    expect(readFileSync(file, 'utf8')).toBe('the old export')
    expect(readdirSync(cli.folder).filter((name) => name.startsWith('audit'))).toEqual([
      'audit.csv',
    ])
  })

  test.each<[string, string, number, string]>([
    [
      'intact',
      '{"state":"intact","entries":3,"unkeyed":0,"head":"ab@3"}\n',
      0,
      'The audit log is intact: 3 entries',
    ],
    [
      'broken',
      '{"state":"broken","seq":2,"reason":"was changed\\u001b[31m"}\n',
      1,
      'entry 2 was changed',
    ],
    [
      'not checked',
      '{"state":"failed","reason":"an internal error occurred"}\n',
      7,
      'could not be checked',
    ],
    ['interrupted', '{"state":"checking","checked":2,"of":3}\n', 7, 'interrupted before its end'],
    ['cut within its last line', '{"state":"intact","entr', 7, 'interrupted before its end'],
    ['unreadable', 'not JSON\n', 1, 'does not understand'],
  ])('a log that is %s', async (_what, line, exit, text) => {
    const { api, cli } = await signedIn()
    api.on(auditVerify, () => `{"state":"checking","checked":0,"of":3}\n${line}`)
    const ran = await cli.run('audit check')
    expect(ran.exit).toBe(exit)
    expect(ran.out + ran.err).toContain(text)
    expect(ran.out + ran.err).not.toContain('\u001b')
    expect(ran.out === '').toBe(exit !== 0)
  })

  test('a check against a noted entry sends it, and its result can be JSON', async () => {
    const { api, cli } = await signedIn()
    const head = `${'a'.repeat(64)}@3`
    api.on(auditVerify, () => `{"state":"intact","entries":3,"unkeyed":0,"head":"${head}"}\n`)
    expect(JSON.parse((await cli.run(`audit check --head ${head} --json`)).out)).toMatchObject({
      state: 'intact',
      entries: 3,
    })
    expect(api.callsOf(auditVerify)[0]!.query).toEqual({ head })
    expect(await cli.run('audit check --head nonsense')).toMatchObject({ exit: 2 })
  })

  test('an expired session is renewed before an export', async () => {
    const { api, cli } = await signedIn()
    api.tokens.delete('access-1')
    api.on(authorizeRefresh, () => {
      api.tokens.add('access-2')
      return { access_token: 'access-2', refresh_token: 'refresh-2' }
    })
    api.on(auditCsv, () => entries)
    expect(await cli.run('audit export')).toMatchObject({ exit: 0, out: entries })
  })
})
