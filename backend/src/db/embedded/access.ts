/**
 * Who may connect to the embedded database: only this program's own account, which the system names
 * for the socket's other end (peer authentication). Neither a password nor a file can be stolen,
 * and the account that runs the server needs no access itself.
 */
import {
  closeSync,
  fchownSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { userInfo } from 'node:os'
import path from 'node:path'
import type { Account } from './account.ts'

/** The only role of the database, which initdb creates. */
export const role = 'steelyard'

const heading = '# Steelyard writes this file at each start.\n'

/**
 * The files' contents (PostgreSQL, "The pg_hba.conf File" and "User Name Maps"). The map comes
 * before the rule that uses it: a running server that reads the rule alone lets nobody in.
 */
const files = (program: string): Record<string, string> => ({
  'pg_ident.conf': `${heading}program "${program.replaceAll('"', '""')}" ${role}\n`,
  'pg_hba.conf': `${heading}local all ${role} peer map=program\n`,
})

/**
 * Writes the files that differ, each completely or not at all. Returns whether any did; a running
 * server has to read them again (SIGHUP).
 */
export function writeAccess(data: string, account: Account | undefined): boolean {
  let hasChanged = false
  for (const [name, text] of Object.entries(files(userInfo().username))) {
    const file = path.join(data, name)
    try {
      if (readFileSync(file, 'utf8') === text) continue
    } catch {
      // Missing or unreadable files are written.
    }
    const making = `${file}.new`
    // From a start that was killed.
    rmSync(making, { force: true })
    const open = openSync(making, 'wx', 0o600)
    try {
      writeFileSync(open, text)
      if (account) fchownSync(open, account.uid, account.gid)
      fsyncSync(open)
      renameSync(making, file)
    } finally {
      closeSync(open)
    }
    hasChanged = true
  }
  return hasChanged
}
