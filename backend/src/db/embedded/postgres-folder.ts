/**
 * PostgreSQL's data folder: created completely or not at all, checked before a server starts, and
 * recognised by its system identifier.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import {
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statfsSync,
} from 'node:fs'
import path from 'node:path'
import { Refusal } from '../../refusal.ts'
import { role, writeAccess } from './access.ts'
import type { EmbeddedOptions } from './supervisor.ts'

/** PostgreSQL can't start with less free space than one segment of its write-ahead log. */
const leastFreeBytes = 16 * 1024 ** 2

/**
 * PostgreSQL doesn't start if one of these is missing, as in an incomplete copy (PostgreSQL,
 * "Database File Layout").
 */
const essential = ['PG_VERSION', 'global/pg_control']

/** How PostgreSQL says that a disk is full: ENOSPC, or a page that was written in part. */
const saysFull = /No space left on device|Check free disk space|wrote only \d+ of \d+ bytes/
/**
 * Text to append to PostgreSQL's error message. Empty if there is room. On a full disk PostgreSQL's
 * log may contain no reason, and initdb removes its incomplete folder, so that there is room again.
 * @param told what PostgreSQL has said
 */
export function roomLeft(folder: string, told: string): string {
  const { bavail, bsize } = statfsSync(folder)
  return saysFull.test(told) || bavail * bsize < leastFreeBytes
    ? `. The disk with ${folder} is full: make room`
    : ''
}

/** The reason from the end of PostgreSQL's log: its error lines, or else the last two lines. */
export function reasonIn(text: string): string {
  const lines = text.trim().split('\n').slice(-8)
  const reasons = lines.filter((line) => /\b(?:FATAL|PANIC|error):/.test(line))
  return (reasons.length > 0 ? reasons : lines).slice(-2).join(' ').trim()
}

/**
 * Whether the folder contains a database.
 * @throws Refusal if the database is incomplete; it is never overwritten, because it may be the
 * only copy
 */
export function holdsDatabase(data: string): boolean {
  if (!existsSync(data) || readdirSync(data).length === 0) return false
  const missing = essential.filter((name) => !existsSync(path.join(data, name)))
  if (missing.length === 0) return true
  throw new Refusal(
    `The database can't be started: ${data} has no ${missing.join(' and no ')}, so it is damaged or was copied in part. Nothing was changed. ` +
      'Move that folder aside and restore a backup; without one, the escrow files in the data folder contain the secrets of each cluster (docs/running/lost.md, "The database is lost")',
  )
}

/**
 * First eight bytes of pg_control, as hex: the system identifier, which initdb assigned
 * (src/include/catalog/pg_control.h).
 */
export function systemIdentifier(data: string): string {
  const file = openSync(path.join(data, 'global/pg_control'), 'r')
  try {
    const bytes = Buffer.alloc(8)
    readSync(file, bytes, 0, 8, 0)
    return bytes.toString('hex')
  } finally {
    closeSync(file)
  }
}

/**
 * Removes the remains of a start that was killed while it created the database. Call it only while
 * holding the lock of the data folder.
 */
export function removeHalfMade(folder: string): void {
  for (const name of readdirSync(folder))
    if (/^postgres\.[0-9a-f]{8}$/.test(name))
      rmSync(path.join(folder, name), { recursive: true, force: true })
}

/**
 * Creates a database if there is none, in a temporary folder that is then renamed. Safe for
 * concurrent callers.
 * @param onSpawn receives the initdb process, which has to end together with this process
 * @throws Refusal with initdb's own reason; no files remain
 */
export async function makeDatabase(
  { folder, account, binaries, forgetful = false }: EmbeddedOptions,
  environment: Readonly<Record<string, string>>,
  onSpawn: (child: ChildProcess) => void,
): Promise<void> {
  const data = path.join(folder, 'postgres')
  const building = path.join(folder, `postgres.${randomUUID().slice(0, 8)}`)
  mkdirSync(building, { mode: 0o700 })
  if (account) chownSync(building, account.uid, account.gid)
  const identity = account ? { uid: account.uid, gid: account.gid } : {}
  const flags = [
    '-D',
    building,
    '-U',
    role,
    '--auth=peer',
    '--encoding=UTF8',
    '--locale=C',
    ...(forgetful ? ['--no-sync'] : []),
  ]
  // initdb gets its own process group, so that Ctrl-C in the terminal doesn't reach it, and the
  // whole group can be ended.
  const child = spawn(binaries.initdb, flags, {
    ...identity,
    cwd: building,
    env: environment,
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  onSpawn(child)
  let errors = ''
  child.stderr
    .setEncoding('utf8')
    .on('data', (text: string) => (errors = (errors + text).slice(-8_000)))
  const code = await new Promise<number | null>((resolve) => {
    child.once('error', (error) => {
      errors += error.message
      resolve(null)
    })
    child.once('close', resolve)
  })
  try {
    if (code !== 0)
      throw new Refusal(
        `The embedded PostgreSQL can't make its folder ${data}: ${reasonIn(errors)}${roomLeft(folder, errors)}`,
      )
    writeAccess(building, account)
    try {
      renameSync(building, data)
    } catch (error) {
      if (!existsSync(path.join(data, 'PG_VERSION'))) throw error
    }
  } finally {
    rmSync(building, { recursive: true, force: true })
  }
}
