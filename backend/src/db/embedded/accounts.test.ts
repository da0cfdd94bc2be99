import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { execPath } from 'node:process'
import { Client } from 'pg'
import { afterAll, expect, test } from 'vitest'
import { silent } from '../../log.ts'
import { isAlive } from '../../machine.ts'
import { temporaryFolder } from '../../testing/folder.ts'
import { testMachine } from '../../testing/postgres.ts'
import { connect } from '../db.ts'
import { writeAccess } from './access.ts'
import { type Account, databaseAccount } from './account.ts'
import { binaries } from './binaries.ts'
import { handOver, serversIn } from './hand-over.ts'
import { embeddedPostgres, type EmbeddedPostgres } from './supervisor.ts'

const isRoot = testMachine.uid === 0
const needsRoot = 'Only root can act as other accounts: run the tests as root to see this one'
const account = await databaseAccount(testMachine, silent)
const own = account ?? {
  name: '',
  uid: testMachine.uid!,
  gid: statSync(temporaryFolder('own')).gid,
}
/** Any account will do; these two are the ones that older versions used. */
const strangers = ['postgres', 'nobody'].map((name): Account => {
  const fields = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .find((line) => line[0] === name)
  return fields
    ? { name, uid: Number(fields[2]), gid: Number(fields[3]) }
    : { name, uid: 12_345, gid: 12_345 }
})
const nobody = strangers[1]!

const running: EmbeddedPostgres[] = []
afterAll(async () => {
  for (const server of running) await server.stop()
})
function server(folder: string, as = account, machine = testMachine): EmbeddedPostgres {
  const made = embeddedPostgres({
    folder,
    account: as,
    binaries: binaries(folder, as, machine.platform, machine.arch),
    machine,
    log: silent,
  })
  running.push(made)
  return made
}
async function ask({ connection }: EmbeddedPostgres, text: string): Promise<unknown[]> {
  const client = new Client(connection)
  client.on('error', () => undefined)
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(text)).rows
  } finally {
    await client.end()
  }
}

/** Runs a module with the repository as its working directory, and returns its output. */
function run(code: string, ...given: unknown[]): { output: string; signal: NodeJS.Signals | null } {
  const root = path.resolve(import.meta.dirname, '../../../..')
  const { stdout, stderr, signal } = spawnSync(
    execPath,
    ['--input-type=module', '--eval', code, '--', JSON.stringify(given)],
    { cwd: root, encoding: 'utf8' },
  )
  return { output: stdout + stderr, signal }
}

/**
 * What an account gets for a connection to the socket and for reading a file. The module is loaded
 * as root, because the account may not be able to.
 */
const asAccount = `
import pg from 'pg'
import { readFileSync } from 'node:fs'
const [{ uid, gid }, host, file] = JSON.parse(process.argv.at(-1))
process.setgroups([gid]); process.setgid(gid); process.setuid(uid)
const client = new pg.Client({ host, user: 'steelyard', database: 'postgres' })
const answer = await client.connect().then(() => 'connected', (error) => error.message)
let read = 'read'
try { readFileSync(file) } catch (error) { read = error.code }
console.log(JSON.stringify([answer, read]))
process.exit()
`
/** `trust`, as older versions wrote it. */
function trustAll(data: string, owner: Account): void {
  for (const [name, text] of Object.entries({
    'pg_hba.conf': 'local all all trust\n',
    'pg_ident.conf': '',
  })) {
    writeFileSync(path.join(data, name), text)
    chownSync(path.join(data, name), owner.uid, owner.gid)
  }
}
const owners = (folder: string): Set<number> =>
  new Set([
    lstatSync(folder).uid,
    ...readdirSync(folder, { recursive: true, encoding: 'utf8' }).map(
      (name) => lstatSync(path.join(folder, name)).uid,
    ),
  ])

test('other accounts are refused at the socket and cannot read the files of the database', async ({
  skip,
}) => {
  skip(!isRoot, needsRoot)
  const folder = temporaryFolder('pg')
  const one = server(folder)
  await one.start()
  const { host } = one.connection
  const file = path.join(folder, 'postgres/pg_hba.conf')
  expect(run(asAccount, { uid: 0, gid: 0 }, host, file).output.trim()).toBe('["connected","read"]')
  for (const stranger of strangers)
    expect(run(asAccount, stranger, host, file).output).toMatch(
      /^\["connect EACCES .*","EACCES"\]\n$/,
    )
  // PostgreSQL asks for the account itself, whoever reaches the socket. The account of the server
  // needs no access either.
  chmodSync(host!, 0o711)
  chmodSync(path.join(host!, '.s.PGSQL.5432'), 0o777)
  for (const stranger of [...strangers, account!])
    expect(run(asAccount, stranger, host, file).output).toContain(
      'Peer authentication failed for user',
    )
  await one.stop()
})

test('a data folder that trusted every account is changed at the next start, also if its server still runs', async () => {
  const folder = temporaryFolder('pg')
  const data = path.join(folder, 'postgres')
  const one = server(folder)
  await one.start()
  trustAll(data, own)
  testMachine.kill(one.pid()!, 'SIGHUP')
  const rules = () =>
    ask(one, 'select auth_method, user_name from pg_hba_file_rules').catch(() => [])
  const two = server(folder)
  expect(await two.start()).toBe('adopted')
  // The only rule lets in this program's account (`pg_ident.conf`), as the only role.
  await expect
    .poll(rules, { timeout: 30_000 })
    .toEqual([{ auth_method: 'peer', user_name: ['steelyard'] }])
  await two.stop()
  trustAll(data, own)
  const three = server(folder)
  expect(await three.start()).toBe('started')
  expect(await ask(three, 'select auth_method from pg_hba_file_rules')).toEqual([
    { auth_method: 'peer' },
  ])
  expect(statSync(path.join(data, 'pg_hba.conf')).mode & 0o777).toBe(0o600)
  await three.stop()
})

test('the folder of an older version is handed over, after the server that a kill left running has ended', async ({
  skip,
}) => {
  skip(!isRoot, needsRoot)
  const folder = temporaryFolder('pg')
  const data = path.join(folder, 'postgres')
  const old = server(folder, nobody)
  await old.start()
  await ask(old, 'create table kept (n integer); insert into kept values (42)')
  trustAll(data, nobody)
  const pid = old.pid()!
  expect(serversIn(data)).toContain(pid)
  const next = server(folder)
  expect(await next.start()).toBe('started')
  expect(isAlive(testMachine, pid)).toBe(false)
  expect(await ask(next, 'select n from kept')).toEqual([{ n: 42 }])
  expect(owners(data)).toEqual(new Set([account!.uid]))
  await next.stop()
})

const killed = `
import { lchownSync } from 'node:fs'
import { handOver } from './backend/src/db/embedded/hand-over.ts'
let [data, account, left] = JSON.parse(process.argv.at(-1))
handOver(data, account, (...entry) => {
  if (left-- === 0) process.kill(process.pid, 'SIGKILL')
  lchownSync(...entry)
})
`
test('a hand-over that is killed at any moment is completed by the next start, and nobody else can enter the folder between', async ({
  skip,
}) => {
  skip(!isRoot, needsRoot)
  const folder = temporaryFolder('pg')
  const data = path.join(folder, 'postgres')
  const old = server(folder, nobody)
  await old.start()
  await ask(old, 'create table kept (n integer); insert into kept values (42)')
  await old.stop()
  const count = readdirSync(data, { recursive: true, withFileTypes: true }).filter(
    (entry) => !entry.isDirectory(),
  ).length
  for (const moment of [0, 1, Math.floor(count / 2), count - 1]) {
    expect(run(killed, data, account, moment)).toEqual({ output: '', signal: 'SIGKILL' })
    expect([lstatSync(data).uid, lstatSync(data).mode & 0o777]).toEqual([0, 0o700])
  }
  const next = server(folder)
  await next.start()
  expect(await ask(next, 'select n from kept')).toEqual([{ n: 42 }])
  expect(owners(data)).toEqual(new Set([account!.uid]))
  await next.stop()
})

test('links are not followed during a hand-over, and a file with a second name is refused', ({
  skip,
}) => {
  skip(!isRoot, needsRoot)
  const folder = temporaryFolder('links')
  const data = path.join(folder, 'postgres')
  const secret = path.join(folder, 'secret')
  const make = () => {
    rmSync(data, { recursive: true, force: true })
    mkdirSync(path.join(data, 'base'), { recursive: true })
    writeFileSync(path.join(data, 'base/1'), '')
    for (const name of ['', 'base', 'base/1'])
      chownSync(path.join(data, name), nobody.uid, nobody.gid)
  }
  writeFileSync(secret, 'of root', { mode: 0o600 })
  make()
  symlinkSync(secret, path.join(data, 'base/link'))
  expect(() => handOver(data, account!)).toThrow(
    `is a link to ${secret}. Run "chown -R steelyard: ${secret}", and start Steelyard again`,
  )
  make()
  symlinkSync(folder, path.join(data, 'pg_wal'))
  expect(() => handOver(data, account!)).toThrow('is a link to')
  make()
  linkSync(secret, path.join(data, 'base/twin'))
  expect(() => handOver(data, account!)).toThrow('has a second name (a hard link) elsewhere')
  expect([statSync(secret).uid, statSync(folder).uid, statSync(data).uid]).toEqual([0, 0, 0])
  make()
  handOver(data, account!)
  handOver(data, account!)
  expect(owners(data)).toEqual(new Set([account!.uid]))
})

test('as root, the account is created once, also by concurrent starts; where that fails, the error has the command', async ({
  skip,
}) => {
  await expect(
    databaseAccount({ ...testMachine, uid: 0, platform: 'darwin' }, silent, 'steelyard-nonesuch'),
  ).rejects.toThrow(
    /can't be created: Steelyard doesn't create accounts on darwin\. Create it with "dscl \. -create \/Users\/steelyard-nonesuch && .*", or start Steelyard as another user/,
  )
  skip(!isRoot, needsRoot)
  const name = `steelyard-t${testMachine.pid}`
  const told: unknown[] = []
  const log = {
    ...silent,
    info: (event: string, fields?: object) => void told.push({ event, ...fields }),
  }
  const code = `
    import { databaseAccount } from './backend/src/db/embedded/account.ts'
    const { silent } = await import('./backend/src/log.ts')
    console.log(JSON.stringify(await databaseAccount({ uid: 0, platform: 'linux' }, silent, JSON.parse(process.argv.at(-1))[0])))`
  try {
    const made = await databaseAccount(testMachine, log, name)
    expect(made!.uid).toBeGreaterThan(0)
    expect(JSON.parse(run(code, name).output)).toEqual(made)
    expect(await databaseAccount(testMachine, log, name)).toEqual(made)
    expect(told).toEqual([{ event: 'database.account_created', account: name }])
    const entry = readFileSync('/etc/passwd', 'utf8')
      .split('\n')
      .find((line) => line.startsWith(`${name}:`))
    expect(entry).toMatch(/:\/usr\/sbin\/nologin$/)
  } finally {
    spawnSync('userdel', [name])
  }
  await expect(databaseAccount(testMachine, silent, 'not:a:name')).rejects.toThrow(
    /can't be created: .*Create it with "useradd --system .*"/,
  )
})

test('if something foreign stands at the socket’s place, another name is taken and kept', async () => {
  for (const stand of [
    (place: string) => writeFileSync(place, ''),
    (place: string) => {
      mkdirSync(place)
      chmodSync(place, 0o777)
    },
    (place: string) => symlinkSync('/tmp', place),
  ]) {
    const folder = temporaryFolder('pg')
    const elsewhere = { ...testMachine, temporary: temporaryFolder('tmp') }
    const first = server(folder, account, elsewhere)
    await first.start()
    const usual = first.connection.host!
    await first.stop()
    stand(usual)
    const before = lstatSync(usual)
    const second = server(folder, account, elsewhere)
    await second.start()
    const taken = second.connection.host!
    expect(taken).not.toBe(usual)
    // The first process was killed. Its server is found again.
    const third = server(folder, account, elsewhere)
    expect(await third.start()).toBe('adopted')
    expect(third.connection.host).toBe(taken)
    await third.stop()
    expect([lstatSync(usual).ino, lstatSync(usual).mode, lstatSync(usual).uid]).toEqual([
      before.ino,
      before.mode,
      before.uid,
    ])
  }
})

test('if the socket has to move while Steelyard runs, its connections follow', async () => {
  const folder = temporaryFolder('pg')
  const one = server(folder, account, { ...testMachine, temporary: temporaryFolder('tmp') })
  await one.start()
  const database = connect({ connection: one.connection, onIdleError: () => undefined })
  one.whenMoved((host) => database.moveTo({ host }))
  one.supervise()
  const place = one.connection.host!
  // Systems remove old files from the temporary folder, and others may then create the name.
  rmSync(place, { recursive: true })
  writeFileSync(place, '')
  testMachine.kill(one.pid()!, 'SIGKILL')
  await expect
    .poll(
      () =>
        database.pool.query('select 1').then(
          () => true,
          () => false,
        ),
      { timeout: 30_000, interval: 100 },
    )
    .toBe(true)
  expect(database.connection.host).toBe(one.connection.host)
  expect(one.connection.host).not.toBe(place)
  expect(existsSync(one.connection.host!)).toBe(true)
  await database.close()
  await one.stop()
})

test('a start that ends between the two files leaves the map that the rule needs', () => {
  const folder = temporaryFolder('access')
  // The rule can't be written.
  mkdirSync(path.join(folder, 'pg_hba.conf.new'))
  expect(() => writeAccess(folder, account)).toThrow('pg_hba.conf.new')
  expect(readdirSync(folder)).toContain('pg_ident.conf')
})

test('the access of a data folder is written once', () => {
  const folder = temporaryFolder('access')
  expect([writeAccess(folder, account), writeAccess(folder, account)]).toEqual([true, false])
  expect(readdirSync(folder).toSorted((a, b) => (a < b ? -1 : 1))).toEqual([
    'pg_hba.conf',
    'pg_ident.conf',
  ])
})
