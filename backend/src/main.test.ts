/** The bundled program as a process: started, killed, started again, stopped. */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { execPath } from 'node:process'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildProgram } from '../build.ts'
import { snapshotImport } from '#contract/clusters/changes/snapshots.ts'
import { datacenterCreate } from '#contract/datacenters.ts'
import { storeCreate } from '#contract/storage/stores.ts'
import { longTest } from '../../tools/testing/long-test.ts'
import { inTransaction } from './db/db.ts'
import { buildCluster } from './domains/clusters/testing/rows.ts'
import { insert } from './domains/clusters/store.ts'
import { startBackend } from './testing/backend.ts'
import { freshDatabase } from './testing/databases.ts'
import { nestedBuckets } from './testing/etcd-bombs.ts'
import { temporaryFolder } from './testing/folder.ts'
import { testMachine, urlOf } from './testing/postgres.ts'

const main = fileURLToPath(new URL('../dist/main.js', import.meta.url))
beforeAll(() => buildProgram())
const hasEnded = (child: ChildProcess) =>
  new Promise((resolve) =>
    child.exitCode === null && child.signalCode === null
      ? child.once('exit', resolve)
      : resolve(undefined),
  )
const children: ChildProcess[] = []
afterAll(async () => {
  for (const child of children)
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM')
  await Promise.all(children.map((child) => hasEnded(child)))
})

function run(args: string[], environment: Record<string, string>, input?: string) {
  const child = spawn(execPath, [main, ...args], {
    env: { PATH: '/usr/bin:/bin', PORT: '0', ...environment },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  children.push(child)
  child.stdin.end(input)
  const seen = { out: '', err: '' }
  const lineSeen = new Promise<void>((resolve) => {
    child.stdout.on('data', (chunk: Buffer) => {
      seen.out += chunk.toString()
      if (seen.out.includes('ready')) resolve()
    })
  })
  child.stderr.on('data', (chunk: Buffer) => (seen.err += chunk.toString()))
  const ended = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)))
  const ready = async (): Promise<string> => {
    await Promise.race([
      lineSeen,
      ended.then((code) => Promise.reject(new Error(`ended with ${code}: ${seen.err}`))),
    ])
    return /http:\S+/.exec(seen.out)![0]
  }
  return { child, seen, ended, ready }
}
const admin = {
  STEELYARD_ADMIN_EMAIL: 'admin@example.com',
  STEELYARD_ADMIN_PASSWORD: 'a long password',
}
const signIn = (url: string) =>
  fetch(`${url}/v1/authorize`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      email: admin.STEELYARD_ADMIN_EMAIL,
      password: admin.STEELYARD_ADMIN_PASSWORD,
    }),
  })

test('the program prints one line on standard output and JSON lines on standard error; a clean stop answers requests that are running, and leaves no database server behind', async () => {
  const data = path.join(temporaryFolder('main'), 'data')
  const program = run(['serve'], { STEELYARD_DATA: data, ...admin })
  const url = await program.ready()
  expect(program.seen.out).toBe(`Steelyard is ready at ${url}\n`)
  expect((await signIn(url)).status).toBe(200)
  // Ten sign-ins wait until their passwords are hashed. When the first is answered, the others have
  // arrived.
  const answers = Array.from({ length: 10 }, () => signIn(url))
  await Promise.race(answers)
  program.child.kill('SIGTERM')
  expect(await program.ended).toBe(0)
  const rejected = (await Promise.allSettled(answers)).filter((s) => s.status === 'rejected')
  expect(rejected).toEqual([])
  expect(program.seen.err).not.toContain(admin.STEELYARD_ADMIN_PASSWORD)
  for (const line of program.seen.err.trim().split('\n'))
    expect(JSON.parse(line)).toHaveProperty('event')
  // The missing lock shows that the server has ended: it removes the lock last. Its process may be
  // reaped later.
  expect(existsSync(path.join(data, 'postgres/postmaster.pid'))).toBe(false)
  expect(existsSync(path.join(data, 'steelyard.pid'))).toBe(false)
})

longTest(
  'a process that only reconciles answers health, readiness and metrics at its address, and nothing else',
  async () => {
    const data = path.join(temporaryFolder('main'), 'data')
    const program = run(['serve'], { STEELYARD_DATA: data, STEELYARD_ROLES: 'reconcile', ...admin })
    const url = (await program.ready()).replace('/readyz', '')
    expect(program.seen.out).toBe(`Steelyard is ready, without API and console: ${url}/readyz\n`)
    for (const probe of ['/healthz', '/readyz', '/metrics'])
      expect((await fetch(url + probe)).status).toBe(200)
    expect((await fetch(url)).status).toBe(404)
    const refused = await signIn(url)
    expect([refused.status, await refused.json()]).toMatchObject([404, { code: 'not_found' }])
    const taken = run(['serve'], {
      STEELYARD_DATA: path.join(temporaryFolder('main'), 'data'),
      STEELYARD_ROLES: 'reconcile',
      PORT: new URL(url).port,
    })
    expect(await taken.ended).toBe(1)
    expect(taken.seen.err).toContain('is in use by another program')
    program.child.kill('SIGTERM')
    expect(await program.ended).toBe(0)
  },
  120_000,
)

test('the error of a second Steelyard on the data folder names the first; after a kill −9 the database server continues to be used', async () => {
  const data = path.join(temporaryFolder('main'), 'data')
  const first = run(['serve'], { STEELYARD_DATA: data, ...admin })
  await first.ready()
  const second = run(['serve'], { STEELYARD_DATA: data })
  const other = run(['serve'], { STEELYARD_DATA: '/nonexistent/data', PORT: 'x' })
  expect([await second.ended, await other.ended]).toEqual([6, 2])
  expect(second.seen.err).toContain(`process ${first.child.pid}`)
  const database = readFileSync(path.join(data, 'postgres/postmaster.pid'), 'utf8').split('\n')[0]
  first.child.kill('SIGKILL')
  await first.ended
  const third = run(['serve'], { STEELYARD_DATA: data })
  const url = await third.ready()
  expect(third.seen.err).toContain('database.adopted')
  expect(readFileSync(path.join(data, 'postgres/postmaster.pid'), 'utf8').split('\n')[0]).toBe(
    database,
  )
  expect((await signIn(url)).status).toBe(200)
  third.child.kill('SIGINT')
  expect(await third.ended).toBe(0)
})

// `npm test` kills it in `e2e/faults/database.test.ts`, during the creation of a cluster.
longTest(
  'if the database server is killed, the program restarts it and continues',
  async () => {
    const data = path.join(temporaryFolder('main'), 'data')
    const program = run(['serve'], { STEELYARD_DATA: data, ...admin })
    const url = await program.ready()
    const { accessToken } = (await (await signIn(url)).json()) as { accessToken: string }
    const get = (at: string) =>
      fetch(`${url}${at}`, { headers: { authorization: `Bearer ${accessToken}` } })
    expect((await get('/v1/datacenters')).status).toBe(200)
    const lock = path.join(data, 'postgres/postmaster.pid')
    const server = () => (existsSync(lock) ? Number(readFileSync(lock, 'utf8').split('\n')[0]) : 0)
    const database = server()
    testMachine.kill(database, 'SIGKILL')
    expect((await get('/healthz')).status).toBe(200)
    // Database sessions outlive their killed server briefly and still answer.
    await expect.poll(server, { timeout: 30_000, interval: 50 }).not.toBe(database)
    await expect
      .poll(async () => (await get('/readyz')).status, { timeout: 30_000, interval: 50 })
      .toBe(200)
    expect((await get('/v1/datacenters')).status).toBe(200)
    program.child.kill('SIGTERM')
    expect(await program.ended).toBe(0)
  },
  90_000,
)

longTest(
  'two processes with one external PostgreSQL and one key, each with its own data folder, share sessions',
  async () => {
    const connection = await freshDatabase()
    const folder = temporaryFolder('main')
    const environment = (name: string) => ({
      DATABASE_URL: urlOf(connection),
      STEELYARD_DATA: path.join(folder, name),
      STEELYARD_KEY_FILE: path.join(folder, 'key'),
      ...admin,
    })
    const both = [run(['serve'], environment('one')), run(['serve'], environment('two'))]
    const [one, two] = await Promise.all(both.map((p) => p.ready()))
    const { accessToken, refreshToken } = (await (await signIn(one!)).json()) as {
      accessToken: string
      refreshToken: string
    }
    const session = () =>
      fetch(`${two}/v1/session`, { headers: { authorization: `Bearer ${accessToken}` } })
    expect((await session()).status).toBe(200)
    await fetch(`${one}/v1/authorize/logout`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ refresh_token: refreshToken }),
    })
    await expect.poll(async () => (await session()).status).toBe(401)
    const client = new Client(connection)
    await client.connect()
    expect((await client.query('select count(*)::int as n from person')).rows).toEqual([{ n: 1 }])
    await client.end()
    // A missing key file is not created, because a new key couldn't decrypt the existing secrets.
    const stranger = run(['serve'], {
      ...environment('three'),
      STEELYARD_KEY_FILE: path.join(folder, 'another'),
    })
    expect(await stranger.ended).toBe(1)
    expect(stranger.seen.err).toMatch(
      /There is no key file at .*another, and this database was sealed with key [0-9a-f]{16}/,
    )
    expect(existsSync(path.join(folder, 'another'))).toBe(false)
    for (const { child } of both) child.kill('SIGTERM')
    expect(await Promise.all(both.map((p) => p.ended))).toEqual([0, 0])
  },
  90_000,
)

test('all invalid settings are reported at once, and nothing is started', async () => {
  const program = run(['serve'], {
    PORT: 'x',
    HOST: '0.0.0.0',
    STEELYARD_DATA: '/nonexistent/data',
  })
  expect(await program.ended).toBe(2)
  expect(program.seen.err).toMatch(/PORT must be[^]*HOST is 0\.0\.0\.0/)
  expect(program.seen.out).toBe('')
})

test('a clock before 2020 is refused before anything is started', async () => {
  const folder = temporaryFolder('main')
  const data = path.join(folder, 'data')
  writeFileSync(path.join(folder, 'clock.cjs'), 'Date.now = () => 0\n')
  const program = run(['serve'], {
    STEELYARD_DATA: data,
    NODE_OPTIONS: `--require=${path.join(folder, 'clock.cjs')}`,
  })
  expect(await program.ended).toBe(1)
  expect(program.seen.err).toMatch(/^This machine's clock says 1970-01-01T00:00:00\.000Z\. Set it/)
  expect(existsSync(data)).toBe(false)
})

test('the first user is created once by a command on the machine, and doctor then finds no problem', async () => {
  const environment = {
    STEELYARD_DATA: path.join(temporaryFolder('main'), 'data'),
    IMAGE_FACTORY_URL: 'http://127.0.0.1:9',
  }
  const add = (email: string, password: string) =>
    run(['user', 'add', '--first', email], environment, `${password}\n`)
  const short = add('admin@example.com', 'short')
  expect(await short.ended).toBe(2)
  expect(short.seen.err).toContain('at least 12')
  const made = add('admin@example.com', 'a long password')
  expect(await made.ended).toBe(0)
  expect(made.seen.out).toContain('admin@example.com can sign in now')
  const second = add('other@example.com', 'a long password')
  expect(await second.ended).toBe(6)
  expect(second.seen.err).toContain('npm run steelyard -- user recover EMAIL')
  // The first start creates keys and encrypted values.
  const program = run(['serve'], environment)
  const url = await program.ready()
  const beside = run(['doctor', '--json'], environment)
  expect(await beside.ended).toBe(0)
  const findings = JSON.parse(beside.seen.out) as { check: string; verdict: string; text: string }[]
  expect(findings.filter((f) => f.verdict === 'bad')).toEqual([])
  expect(findings.find((f) => f.check === 'users')!.text).toBe('1 user')
  expect(findings.find((f) => f.check === 'key')!.verdict).toBe('warning')
  expect((await fetch(`${url}/healthz`)).status).toBe(200)
  program.child.kill('SIGTERM')
  await program.ended
})

test('an administrator is let in by a command on the machine, while Steelyard runs and while it is stopped', async () => {
  const environment = { STEELYARD_DATA: path.join(temporaryFolder('main'), 'data') }
  const recover = () => run(['user', 'recover', admin.STEELYARD_ADMIN_EMAIL], environment)
  const program = run(['serve'], { ...environment, ...admin })
  await program.ready()
  const beside = recover()
  expect([await beside.ended, beside.seen.err]).toEqual([0, ''])
  program.child.kill('SIGTERM')
  await program.ended
  const alone = recover()
  expect([await alone.ended, alone.seen.err]).toEqual([0, ''])
  const links = [beside, alone].map(({ seen }) => /\/auth\/reset#(\S+)/.exec(seen.out)![1]!)
  const again = run(['serve'], environment)
  const url = await again.ready()
  const use = (token: string) =>
    fetch(`${url}/v1/password-reset`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ token, new_password: 'correct horse battery' }),
    })
  // The newer link replaces the older one.
  expect((await use(links[0]!)).status).toBe(409)
  expect((await use(links[1]!)).status).toBe(204)
  expect((await signIn(url)).status).toBe(401)
  again.child.kill('SIGTERM')
  await again.ended
})

longTest(
  'the embedded database is backed up while Steelyard runs, and Steelyard starts on the data folder restored from that backup',
  async () => {
    const folder = temporaryFolder('main')
    const passphrase = path.join(folder, 'passphrase')
    writeFileSync(passphrase, 'a passphrase of the test\n', { mode: 0o600 })
    const file = path.join(folder, 'backup')
    const first = run(['serve'], { STEELYARD_DATA: path.join(folder, 'one'), ...admin })
    await first.ready()
    const saved = run(['backup', file, '--passphrase-file', passphrase], {
      STEELYARD_DATA: path.join(folder, 'one'),
    })
    expect([await saved.ended, saved.seen.err]).toEqual([0, ''])
    // The running program has locked its folder, so nothing is restored there.
    const taken = run(['restore', file, '--passphrase-file', passphrase], {
      STEELYARD_DATA: path.join(folder, 'one'),
    })
    expect([await taken.ended, taken.seen.err]).toEqual([
      1,
      expect.stringContaining(`process ${first.child.pid}`),
    ])
    first.child.kill('SIGTERM')
    expect(await first.ended).toBe(0)
    const two = path.join(folder, 'two')
    const killed = run(['restore', file, '--passphrase-file', passphrase], { STEELYARD_DATA: two })
    // The first restore is killed as soon as the database exists. The second restore then finds an
    // empty or a completely restored database.
    await expect
      .poll(
        () =>
          existsSync(path.join(two, 'postgres/postmaster.pid')) || killed.child.exitCode !== null,
        { timeout: 30_000, interval: 5 },
      )
      .toBe(true)
    killed.child.kill('SIGKILL')
    await killed.ended
    const again = run(['restore', file, '--passphrase-file', passphrase], { STEELYARD_DATA: two })
    expect([await again.ended, again.seen.err]).toEqual([0, ''])
    expect(readFileSync(path.join(two, 'key'))).toEqual(
      readFileSync(path.join(folder, 'one', 'key')),
    )
    const second = run(['serve'], { STEELYARD_DATA: two })
    expect((await signIn(await second.ready())).status).toBe(200)
    second.child.kill('SIGTERM')
    expect(await second.ended).toBe(0)
  },
  120_000,
)

longTest(
  'a snapshot that is hostile stops neither the answers nor the end of the program, and a restart answers',
  async () => {
    const connection = await freshDatabase()
    const here = await startBackend({ connection })
    const user = await here.signIn()
    const { id: datacenter_id } = (
      await user.call(datacenterCreate, {
        body: { country_code: 'PL', city_code: 'POZ', city_name: 'Poznań' },
      })
    ).answer!
    const id = randomUUID()
    const at = new Date()
    await inTransaction(here.platform.db, (tx) =>
      insert(tx, {
        ...buildCluster({
          id,
          datacenter_id,
          endpoint: 'https://10.0.0.9:6443',
          pod_cidr: '10.244.0.0/16',
          service_cidr: '10.96.0.0/12',
          chain_address: `0x${'0'.repeat(40)}`,
          status: 'ready',
          ready_at: at,
        }),
        certificates_ending: null,
        finding: null,
        observed: null,
        upgrade: null,
        maintenance_window: null,
        wanted_image: null,
        kept: '[]',
        labels: '{}',
        replaces: '{}',
      }),
    )
    const folder = path.join(here.config.dataFolder, 'stores/disk')
    const store_id = (
      await user.call(storeCreate, { body: { name: 'disk', kind: 'folder', folder } })
    ).answer!.id
    // A careless reader reads 64 ** 8 pages.
    writeFileSync(path.join(folder, 'bomb.db'), nestedBuckets())
    const imported = await user.call(snapshotImport, {
      params: { id },
      body: { store_id, file: 'bomb.db' },
    })
    expect(imported.status).toBe(201)
    const client = new Client(connection)
    await client.connect()
    const snapshot = async () =>
      (
        await client.query<{ attempts: number; status: string }>(
          'select attempts, status from snapshot',
        )
      ).rows[0]!
    const environment = { DATABASE_URL: urlOf(connection), STEELYARD_DATA: here.config.dataFolder }

    const first = run(['serve'], environment)
    const url = await first.ready()
    await expect
      .poll(async () => (await snapshot()).attempts, { timeout: 60_000 })
      .toBeGreaterThan(0)
    expect((await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(30_000) })).status).toBe(
      200,
    )
    first.child.kill('SIGTERM')
    const late = setTimeout(() => first.child.kill('SIGKILL'), 30_000)
    expect(await first.ended).toBe(0)
    clearTimeout(late)

    const second = run(['serve'], environment)
    expect(
      (await fetch(`${await second.ready()}/healthz`, { signal: AbortSignal.timeout(30_000) }))
        .status,
    ).toBe(200)
    await expect.poll(async () => (await snapshot()).status).not.toBe('taking')
    second.child.kill('SIGTERM')
    expect(await second.ended).toBe(0)
    await client.end()
  },
  180_000,
)
