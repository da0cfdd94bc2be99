/**
 * A PostgreSQL of a test's own on a port of the loopback, as one of DATABASE_URL, with the troubles
 * that such a server can have. It ends with the test file.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { chownSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import path from 'node:path'
import { kill } from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import type { Connection } from '../../db/connection.ts'
import { databaseAccount } from '../../db/embedded/account.ts'
import { binaries } from '../../db/embedded/binaries.ts'
import { sqlState } from '../../db/db.ts'
import { silent } from '../../log.ts'
import { whenFileIsOver } from '../ending.ts'
import { temporaryFolder } from '../folder.ts'
import { testMachine } from '../postgres.ts'

export interface ExternalPostgres {
  readonly connection: Connection
  readonly start: () => Promise<void>
  /** SIGINT ends sessions in order, SIGQUIT at once, as a crash does. */
  readonly stop: (signal?: 'SIGINT' | 'SIGQUIT') => Promise<void>
  /** Suspends all its processes, so that connections stay open and nothing is answered. */
  readonly hang: () => void
  readonly resume: () => void
  /** Takes all connections, also those that others have, until the returned function is called. */
  readonly fill: () => Promise<() => Promise<void>>
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

export async function externalPostgres(): Promise<ExternalPostgres> {
  const folder = temporaryFolder('external')
  const account = await databaseAccount(testMachine, silent)
  const programs = binaries(folder, account, testMachine.platform, testMachine.arch)
  const as = account ? { uid: account.uid, gid: account.gid } : {}
  if (account) chownSync(folder, account.uid, account.gid)
  const how = { ...as, cwd: folder, env: { LC_ALL: 'C', TZ: 'UTC', PATH: '/usr/bin:/bin' } }
  const data = path.join(folder, 'data')
  const options = ['-D', data, '-U', 'steelyard', '--auth=trust', '-E', 'UTF8', '--no-sync']
  const made = spawnSync(programs.initdb, options, { ...how, encoding: 'utf8' })
  if (made.status !== 0) throw new Error(`initdb: ${made.stderr}`)
  const port = await freePort()
  const connection = { host: '127.0.0.1', port, user: 'steelyard', database: 'postgres' }
  const settings = [
    'listen_addresses=127.0.0.1',
    `port=${port}`,
    'unix_socket_directories=',
    'max_connections=40',
    'fsync=off',
  ]
  let child: ChildProcess | undefined

  const client = async (): Promise<Client> => {
    const made = new Client(connection)
    made.on('error', () => undefined)
    await made.connect()
    return made
  }
  const start = async (): Promise<void> => {
    child = spawn(programs.postgres, ['-D', data, ...settings.flatMap((s) => ['-c', s])], {
      ...how,
      stdio: 'ignore',
    })
    for (let tries = 0; ; tries++)
      try {
        await (await client()).end()
        return
      } catch (error) {
        if (tries > 600 || child.exitCode !== null) throw error
        await pause(100)
      }
  }
  const signalAll = (signal: NodeJS.Signals): void => {
    const pid = child!.pid!
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    for (const one of [pid, ...children.split(' ').filter(Boolean).map(Number)])
      try {
        kill(one, signal)
      } catch {
        // It has ended since.
      }
  }
  const stop = async (signal: NodeJS.Signals = 'SIGINT'): Promise<void> => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise((resolve) => child!.once('exit', resolve))
    child.kill(signal)
    await ended
  }
  whenFileIsOver(async () => {
    if (child && child.exitCode === null && child.signalCode === null) signalAll('SIGCONT')
    await stop('SIGQUIT')
  })
  await start()

  return {
    connection,
    start,
    stop,
    hang: () => signalAll('SIGSTOP'),
    resume: () => signalAll('SIGCONT'),
    async fill() {
      const taken = [await client()]
      for (;;) {
        try {
          for (;;) taken.push(await client())
        } catch (error) {
          if (sqlState(error) !== '53300') throw error
        }
        const { rowCount } = await taken[0]!.query(
          "select pg_terminate_backend(pid, 1000) from pg_stat_activity where application_name like 'steelyard%'",
        )
        if (!rowCount) break
      }
      return async () => void (await Promise.all(taken.map((one) => one.end())))
    },
  }
}
