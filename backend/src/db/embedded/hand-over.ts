/**
 * Hands PostgreSQL's data folder over to the database's account, for example one that an older
 * Steelyard ran as `postgres` or `nobody`.
 *
 * The former owner may be hostile. So every folder first becomes root's, with mode 0700, before its
 * entries are looked at: from then on nobody else can replace an entry by a link to a file of the
 * system. It goes to the account only when everything in it has gone. The top folder goes last, so
 * a hand-over that was killed in the middle is noticed by its owner and done again.
 */
import { spawnSync } from 'node:child_process'
import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fsyncSync,
  lchownSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
} from 'node:fs'
import path from 'node:path'
import { Refusal } from '../../refusal.ts'
import type { Account } from './account.ts'

/** Whether the folder belongs to another account, or a hand-over of it was killed. */
export const isForeign = (data: string, account: Account): boolean =>
  statSync(data).uid !== account.uid

/**
 * The processes of PostgreSQL that use the data folder: the server and its sessions have it as
 * their working directory. PostgreSQL's own lock doesn't protect the folder against a server of
 * another account (EPERM counts as dead in CreateLockFile, src/backend/utils/init/miscinit.c).
 */
export function serversIn(data: string): number[] {
  const { dev, ino } = statSync(data)
  let names: string[]
  try {
    names = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  } catch {
    // macOS has no /proc.
    const listed = spawnSync(
      'lsof',
      ['-t', '-a', '-c', 'postgres', '-d', 'cwd', '--', realpathSync(data)],
      { encoding: 'utf8' },
    )
    return (listed.stdout ?? '').split('\n').filter(Boolean).map(Number)
  }
  return names
    .filter((name) => {
      try {
        const cwd = statSync(`/proc/${name}/cwd`)
        return (
          cwd.dev === dev &&
          cwd.ino === ino &&
          readFileSync(`/proc/${name}/comm`, 'utf8').trim() === 'postgres'
        )
      } catch {
        return false // The process has ended, or is one of the kernel.
      }
    })
    .map(Number)
}

const refuse = (what: string): never => {
  throw new Refusal(
    `The database isn't handed over to its own account: ${what}, and start Steelyard again`,
  )
}

function handOverFolder(
  folder: string,
  account: Account,
  chown: typeof lchownSync,
  isTop: boolean,
): void {
  const open = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
  try {
    fchownSync(open, 0, 0)
    fchmodSync(open, 0o700)
    for (const name of readdirSync(folder)) {
      const entry = path.join(folder, name)
      const found = lstatSync(entry)
      if (found.isDirectory()) {
        handOverFolder(entry, account, chown, false)
        continue
      }
      if (found.isSymbolicLink()) {
        const target = statSync(entry, { throwIfNoEntry: false })
        // Tablespaces and pg_wal may be links to other disks. Only a person knows whether the
        // target is PostgreSQL's.
        if (target && target.uid !== account.uid)
          refuse(
            `${entry} is a link to ${realpathSync(entry)}. Run "chown -R ${account.name}: ${realpathSync(entry)}"`,
          )
      } else if (!found.isFile()) refuse(`${entry} is no file of PostgreSQL's. Move it away`)
      else if (found.nlink > 1)
        refuse(`${entry} has a second name (a hard link) elsewhere. Replace it by a copy`)
      chown(entry, account.uid, account.gid)
    }
    if (isTop) fsyncSync(open)
    fchownSync(open, account.uid, account.gid)
  } finally {
    closeSync(open)
  }
}

/**
 * Safe to repeat. No server may use the folder (`serversIn`).
 * @param chown lchown(2); a test ends the process in it
 * @throws Refusal if an entry can't be handed over; the rest is done at the next call
 */
export function handOver(
  data: string,
  account: Account,
  chown: typeof lchownSync = lchownSync,
): void {
  if (lstatSync(data).isSymbolicLink())
    refuse(
      `${data} is a link to ${realpathSync(data)}. Run "chown -R ${account.name}: ${realpathSync(data)}"`,
    )
  handOverFolder(data, account, chown, true)
}
