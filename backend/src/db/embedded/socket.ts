/**
 * The folder of the database's socket: private, with a short path, and under a name that nobody
 * else has taken.
 */
import { createHash, randomBytes } from 'node:crypto'
import {
  chownSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import type { Machine } from '../../machine.ts'
import type { Account } from './account.ts'

/** A unix socket's path has at most 107 bytes, PostgreSQL's file name included. */
const longest = 107 - '/.s.PGSQL.5432'.length

const place = (machine: Machine, id: string): string => {
  const inTemporary = path.join(machine.temporary, `steelyard-${id}`)
  return Buffer.byteLength(inTemporary) <= longest
    ? inTemporary
    : path.join('/tmp', `steelyard-${id}`)
}

/**
 * Creates the folder if it is missing. False: others own it or can enter it, or it isn't a folder.
 */
function take(folder: string, machine: Machine, account: Account | undefined): boolean {
  mkdirSync(path.dirname(folder), { recursive: true })
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  const found = lstatSync(folder)
  const isOurs = found.uid === machine.uid || found.uid === account?.uid
  if (!found.isDirectory() || !isOurs || (found.mode & 0o077) !== 0) return false
  if (account && found.uid !== account.uid) chownSync(folder, account.uid, account.gid)
  return true
}

/**
 * Anyone can create the folder's usual name in the system's temporary folder before Steelyard does.
 * Then a random name is used, and kept in the file `postgres.socket` beside the database, so that
 * the next start finds a server that still runs.
 * @param folder folder that contains `postgres/`
 */
export function socketFolder(
  machine: Machine,
  folder: string,
  account: Account | undefined,
): string {
  const file = path.join(folder, 'postgres.socket')
  const readKept = () => {
    try {
      return /^[0-9a-f]{12}$/.exec(readFileSync(file, 'utf8').trim())?.[0]
    } catch {
      return undefined
    }
  }
  const usual = createHash('sha256')
    .update(path.join(folder, 'postgres'))
    .digest('hex')
    .slice(0, 12)
  let id = readKept() ?? usual
  while (!take(place(machine, id), machine, account)) {
    id = randomBytes(6).toString('hex')
    const making = `${file}.${machine.pid}`
    writeFileSync(making, `${id}\n`, { mode: 0o600 })
    renameSync(making, file)
  }
  return place(machine, id)
}

/** Removes the socket's folder. It stays if another server has begun to use it. */
export function removeSocketFolder(folder: string): void {
  try {
    rmdirSync(folder)
  } catch {
    // The next start uses the folder again.
  }
}
