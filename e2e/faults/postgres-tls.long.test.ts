/** TLS to the operator's own PostgreSQL: each `sslmode` means what it means for libpq. */
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Program, startProgram, temporaryFolder } from './processes.ts'
import { guarded, postgresTls } from './testing/postgres-tls.ts'

let server: Awaited<ReturnType<typeof postgresTls>>
const { folder, remove } = temporaryFolder()
beforeAll(async () => {
  server = await postgresTls()
}, 120_000)
afterAll(async () => {
  await server.stop()
  remove()
})

/** Files of the test stand for their paths. */
const urlOf = (query: string, { host = 'localhost', database = 'postgres' } = {}): string =>
  `postgresql://steelyard@${host}:${server.port}/${database}?${query.replaceAll(
    /=(\w+\.(?:crt|key))/g,
    (_, name: string) => `=${server.file(name)}`,
  )}`
const start = (url: string, data = 'postgres', more: object = {}): Promise<Program> =>
  startProgram(join(folder, data), { DATABASE_URL: url, ...more })
const refusal = (url: string): Promise<string> =>
  start(url).then(
    async (program) => {
      await program.kill()
      return 'it started'
    },
    (error: unknown) => String(error),
  )

test.each([
  ['sslmode=disable', false, true],
  ['sslmode=allow', false, true],
  ['', true, false],
  ['sslmode=prefer', true, false],
  ['sslmode=require', true, false],
  ['sslmode=require&sslrootcert=ours.crt', true, false],
  ['sslmode=verify-ca&sslrootcert=ours.crt', true, false],
  ['sslmode=verify-full&sslrootcert=ours.crt', true, false],
])(
  'with "%s" all sessions use TLS: %s, and the start warns of TLS that is not used: %s',
  async (query, isEncrypted, warns) => {
    const program = await start(urlOf(query))
    try {
      expect(await server.sessions('postgres')).toEqual([{ ssl: isEncrypted, client_dn: null }])
      expect(program.log().includes('"event":"database.tls_unused"')).toBe(warns)
    } finally {
      await program.kill()
    }
  },
  120_000,
)

test.each([
  ['verify-ca, an authority that did not sign', 'sslmode=verify-ca&sslrootcert=strange.crt'],
  ['verify-full, an authority that did not sign', 'sslmode=verify-full&sslrootcert=strange.crt'],
  // libpq: with a file of authorities `require` verifies like `verify-ca`.
  ['require, an authority that did not sign', 'sslmode=require&sslrootcert=strange.crt'],
  ['verify-full, no authority named', 'sslmode=verify-full'],
])(
  'the start is refused with a sentence: %s',
  async (_, query) => {
    expect(await refusal(urlOf(query))).toMatch(
      /The database of DATABASE_URL doesn't answer: .*(?:certificate|authority)/,
    )
  },
  120_000,
)

test('an authority of NODE_EXTRA_CA_CERTS is known to all connections of the program', async () => {
  const more = { NODE_EXTRA_CA_CERTS: server.file('ours.crt') }
  const program = await start(urlOf('sslmode=verify-full'), 'postgres', more)
  try {
    expect(await server.sessions('postgres')).toEqual([{ ssl: true, client_dn: null }])
  } finally {
    await program.kill()
  }
}, 120_000)

test('only verify-full compares the name of the host with the certificate', async () => {
  const byAddress = { host: '127.0.0.1' }
  const program = await start(urlOf('sslmode=verify-ca&sslrootcert=ours.crt', byAddress))
  await program.kill()
  expect(await refusal(urlOf('sslmode=verify-full&sslrootcert=ours.crt', byAddress))).toMatch(
    /doesn't answer: .*127\.0\.0\.1/,
  )
}, 120_000)

test('a server that wants a certificate of its client gets the one of the URL, and refuses others', async () => {
  const verified = 'sslmode=verify-full&sslrootcert=ours.crt'
  expect(await refusal(urlOf(verified, { database: guarded }))).toMatch(
    /doesn't answer: .*certificate/,
  )
  const url = urlOf(`${verified}&sslcert=client.crt&sslkey=client.key`, { database: guarded })
  const program = await start(url, guarded)
  try {
    expect(await server.sessions(guarded)).toEqual([{ ssl: true, client_dn: '/CN=steelyard' }])
    expect(program.log()).not.toContain('database.tls_unused')
  } finally {
    await program.kill()
  }
}, 120_000)
