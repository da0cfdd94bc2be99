// A temporary PostgreSQL from the system's packages, to run the backend's suites on the oldest
// supported version too. The server listens only on a Unix socket. Its folder is removed when the
// server stops.
import { spawn, spawnSync } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Folder with the programs of the newest installed PostgreSQL, or null. */
export function systemPostgres() {
  const root = '/usr/lib/postgresql'
  if (!existsSync(root)) return null
  const versions = readdirSync(root).filter((v) => existsSync(join(root, v, 'bin', 'initdb')))
  const newest = versions.toSorted((a, b) => Number(b) - Number(a))[0]
  return newest ? { version: newest, bin: join(root, newest, 'bin') } : null
}

/**
 * The account for PostgreSQL, which refuses to run as root: if this process is root, the account
 * that the system's package has created.
 */
function account() {
  if (process.getuid?.() !== 0) return {}
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((l) => l.startsWith('postgres:'))
  if (!line) throw new Error('The account postgres, which the package postgresql makes, is missing')
  const [, , uid, gid] = line.split(':')
  return { uid: Number(uid), gid: Number(gid) }
}

export async function startPostgres({ bin }) {
  const folder = mkdtempSync(join(tmpdir(), 'sy-pg-'))
  const as = account()
  if (as.uid !== undefined) chownSync(folder, as.uid, as.gid)
  const data = join(folder, 'data')
  const made = spawnSync(
    join(bin, 'initdb'),
    ['-D', data, '-U', 'steelyard', '--auth=trust', '-E', 'UTF8', '--locale=C', '--no-sync'],
    {
      ...as,
      cwd: folder,
      encoding: 'utf8',
    },
  )
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}`)
  const child = spawn(
    join(bin, 'postgres'),
    [
      '-D',
      data,
      '-k',
      folder,
      '-c',
      'listen_addresses=',
      '-c',
      'fsync=off',
      '-c',
      'max_connections=200',
    ],
    {
      ...as,
      cwd: folder,
      stdio: 'ignore',
    },
  )
  for (let tries = 0; !existsSync(join(folder, '.s.PGSQL.5432')); tries++) {
    if (tries > 300 || child.exitCode !== null)
      throw new Error('PostgreSQL did not start within 30 s')
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  return {
    url: `postgresql://steelyard@localhost/postgres?host=${encodeURIComponent(folder)}`,
    async stop() {
      const ended = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGINT')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
