import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { Client } from 'pg'
import { afterAll, expect, test } from 'vitest'
import { silent } from '../../log.ts'
import { isAlive } from '../../machine.ts'
import { temporaryFolder } from '../../testing/folder.ts'
import { testMachine } from '../../testing/postgres.ts'
import { canEnter, databaseAccount } from './account.ts'
import { binaries } from './binaries.ts'
import { FolderInUse, lockFolder } from './lock.ts'
import { removeHalfMade, roomLeft } from './postgres-folder.ts'
import { embeddedPostgres, type EmbeddedPostgres } from './supervisor.ts'

const account = await databaseAccount(testMachine, silent)
const running: EmbeddedPostgres[] = []
afterAll(async () => {
  for (const server of running) await server.stop()
})

function server(folder: string): EmbeddedPostgres {
  const made = embeddedPostgres({
    folder,
    account,
    binaries: binaries(folder, account, testMachine.platform, testMachine.arch),
    machine: testMachine,
    log: silent,
  })
  running.push(made)
  return made
}
async function ask<T extends object>({ connection }: EmbeddedPostgres, text: string): Promise<T[]> {
  const client = new Client(connection)
  client.on('error', () => undefined)
  await client.connect()
  try {
    return (await client.query<T>(text)).rows
  } finally {
    await client.end()
  }
}

test('a start in an empty folder creates a database, and the next start uses it again', async () => {
  const folder = temporaryFolder('pg')
  const one = server(folder)
  expect(await one.start()).toBe('started')
  await ask(one, 'create table kept (n integer); insert into kept values (42)')
  const socket = one.connection.host!
  expect(statSync(socket).mode & 0o777).toBe(0o700)
  expect(path.join(socket, '.s.PGSQL.5432').length).toBeLessThanOrEqual(107)
  const before = one.pid()!
  await one.stop()
  expect(isAlive(testMachine, before)).toBe(false)
  expect(existsSync(socket)).toBe(false)
  const two = server(folder)
  expect(await two.start()).toBe('started')
  expect(await ask(two, 'select n from kept')).toEqual([{ n: 42 }])
  await two.stop()
  // Errors that waiting doesn't solve are reported at once, with PostgreSQL's message.
  writeFileSync(path.join(folder, 'postgres/PG_VERSION'), '17\n')
  await expect(server(folder).start()).rejects.toThrow(/incompatible with server/)
})

test('if a start was killed while it created the database, the next start removes only the leftovers of that attempt', () => {
  const folder = temporaryFolder('half')
  for (const name of ['postgres.0a1b2c3d', 'postgres', 'postgres.old', 'escrow'])
    mkdirSync(path.join(folder, name))
  writeFileSync(path.join(folder, 'postgres.log'), '')
  removeHalfMade(folder)
  expect(readdirSync(folder).toSorted((a, b) => (a < b ? -1 : 1))).toEqual([
    'escrow',
    'postgres',
    'postgres.log',
    'postgres.old',
  ])
})

test('a start uses the database server that a killed program left running', async () => {
  const folder = temporaryFolder('pg')
  const one = server(folder)
  await one.start()
  const pid = one.pid()
  // The first process was killed, and another one starts.
  const two = server(folder)
  expect(await two.start()).toBe('adopted')
  expect(two.pid()).toBe(pid)
  await two.stop()
})

test('two concurrent starts in an empty folder end with one PostgreSQL server and one database', async () => {
  const folder = temporaryFolder('pg')
  const both = [server(folder), server(folder)]
  const how = await Promise.all(both.map((s) => s.start()))
  expect(how.filter((h) => h === 'started').length).toBeLessThanOrEqual(1)
  const ids = await Promise.all(
    both.map((s) =>
      ask<{ id: string }>(s, 'select system_identifier::text as id from pg_control_system()'),
    ),
  )
  expect(ids[0]).toEqual(ids[1])
  await both[0]!.stop()
})

test('the supervisor restarts a database server after kill −9, and no commit is lost', async () => {
  const folder = temporaryFolder('pg')
  const one = server(folder)
  await one.start()
  one.supervise()
  await ask(one, 'create table kept (n integer)')
  for (let round = 1; round <= 2; round++) {
    await ask(one, `insert into kept values (${round})`)
    const pid = one.pid()!
    // Systems remove old files from the temporary folder.
    if (round === 2) rmSync(one.connection.host!, { recursive: true })
    testMachine.kill(pid, 'SIGKILL')
    await expect
      .poll(() => ask(one, 'select n from kept order by n').catch(() => []), {
        timeout: 30_000,
        interval: 100,
      })
      .toEqual(Array.from({ length: round }, (_, i) => ({ n: i + 1 })))
    expect(one.pid()).not.toBe(pid)
  }
  await one.stop()
})

test('the lock file of a dead PostgreSQL server does not count as a running server', async () => {
  const folder = temporaryFolder('pg')
  const one = server(folder)
  await one.start()
  testMachine.kill(one.pid()!, 'SIGKILL')
  const two = server(folder)
  expect(['started', 'adopted']).toContain(await two.start())
  expect(await ask(two, 'select 1 as n')).toEqual([{ n: 1 }])
  await two.stop()
})

test('the socket of another database server is not used', async () => {
  const [a, b] = [temporaryFolder('pg'), temporaryFolder('pg')]
  const one = server(a)
  await one.start()
  const pid = one.pid()!
  // The folder was replaced by another database while the old server still runs.
  const two = server(b)
  await two.start()
  await two.stop()
  renameSync(path.join(a, 'postgres'), path.join(a, 'old'))
  renameSync(path.join(b, 'postgres'), path.join(a, 'postgres'))
  const again = server(a)
  const outcome = await Promise.race([
    again.start(),
    new Promise((resolve) => setTimeout(() => resolve('still waiting'), 1500)),
  ])
  expect(outcome).toBe('still waiting')
  await again.stop()
  testMachine.kill(pid, 'SIGQUIT')
})

test('only one Steelyard uses a data folder; the error of a second one names the process that uses the folder', () => {
  const folder = temporaryFolder('lock')
  const unlock = lockFolder(folder, testMachine)
  expect(() => lockFolder(folder, { ...testMachine, pid: 1 })).toThrow(FolderInUse)
  expect(() => lockFolder(folder, { ...testMachine, pid: 1 })).toThrow(`process ${testMachine.pid}`)
  unlock()
  lockFolder(folder, testMachine)()
})

test('the lock of a dead process can be acquired, even if its process id belongs to another process now', () => {
  const folder = temporaryFolder('lock')
  const file = path.join(folder, 'steelyard.pid')
  writeFileSync(file, JSON.stringify({ pid: 4_194_303, began: '1' }))
  const take = () => {
    lockFolder(folder, testMachine)()
    return existsSync(file)
  }
  expect(take()).toBe(false)
  // Process 1 lives, but it started at another time than the holder of this lock.
  writeFileSync(file, JSON.stringify({ pid: 1, began: 'another time' }))
  expect(take()).toBe(false)
  writeFileSync(file, 'half a li')
  expect(take()).toBe(false)
})

test.runIf(existsSync('/proc/self/stat'))(
  'a process that was killed loses its lock before its parent has collected its exit status',
  async () => {
    // The shell starts a process and becomes `sleep`, which collects no exit status.
    const parent = spawn('sh', ['-c', 'sleep 600 & echo $!; exec sleep 600'])
    const pid = Number((await once(parent.stdout, 'data')).toString())
    const folder = temporaryFolder('lock')
    lockFolder(folder, { ...testMachine, pid })
    expect(() => lockFolder(folder, testMachine)).toThrow(FolderInUse)
    process.kill(pid, 'SIGKILL')
    await expect.poll(() => isAlive(testMachine, pid)).toBe(false)
    lockFolder(folder, testMachine)()
    parent.kill('SIGKILL')
  },
)

test('without root, the database runs under the same account as Steelyard', async () => {
  expect(await databaseAccount({ ...testMachine, uid: 1000 }, silent)).toBeUndefined()
  expect(canEnter(undefined, '/usr/bin')).toBe(true)
  expect(canEnter(undefined, '/etc/passwd')).toBe(false)
  expect(canEnter(undefined, '/nowhere')).toBe(false)
})

test('a damaged database folder is left unchanged, and the error names the missing part', async () => {
  for (const part of ['PG_VERSION', 'global/pg_control']) {
    const folder = temporaryFolder('pg')
    mkdirSync(path.join(folder, 'postgres/global'), { recursive: true })
    for (const name of ['PG_VERSION', 'global/pg_control', 'postgresql.conf'])
      if (name !== part) writeFileSync(path.join(folder, 'postgres', name), '18\n')
    await expect(server(folder).start()).rejects.toThrow(
      new RegExp(
        `has no ${part}, so it is damaged or was copied in part\\. Nothing was changed\\. .* restore a backup`,
      ),
    )
    expect(existsSync(path.join(folder, 'postgres/postgresql.conf'))).toBe(true)
    expect(readdirSync(folder)).toEqual(['postgres'])
  }
})

test('a full disk is named, also if initdb has made room again by removing its folder', () => {
  const folder = temporaryFolder('embedded')
  for (const told of [
    'FATAL:  could not extend file "base/1/2691": wrote only 4096 of 8192 bytes at block 10',
    'FATAL:  could not write to file "pg_wal/xlogtemp.1": No space left on device',
  ])
    expect(roomLeft(folder, told)).toBe(`. The disk with ${folder} is full: make room`)
  expect(roomLeft(folder, 'FATAL:  could not open file "base/1/2691": Permission denied')).toBe('')
})

test('a failed start leaves no PostgreSQL server running, and its error has the reason of this start, not of an earlier one', async () => {
  const folder = temporaryFolder('pg')
  const first = server(folder)
  await first.start()
  await first.stop()
  writeFileSync(path.join(folder, 'postgres.log'), 'FATAL:  a trouble of last year\n', {
    flag: 'a',
  })
  let asked = false
  const given = embeddedPostgres({
    folder,
    account,
    binaries: binaries(folder, account, testMachine.platform, testMachine.arch),
    // The program is told to stop right after the server was launched.
    machine: testMachine,
    log: silent,
    stopAsked: () => asked || (asked = existsSync(path.join(folder, 'postgres/postmaster.pid'))),
  })
  await expect(given.start()).rejects.toThrow(/^(?!.*last year)/)
  expect(asked).toBe(true)
  expect(existsSync(path.join(folder, 'postgres/postmaster.pid'))).toBe(false)
  writeFileSync(path.join(folder, 'postgres/PG_VERSION'), '17\n')
  await expect(server(folder).start()).rejects.toThrow(/^(?!.*last year).*incompatible with server/)
})
