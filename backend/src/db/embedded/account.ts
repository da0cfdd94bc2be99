/** PostgreSQL refuses to run as root. If Steelyard runs as root, PostgreSQL runs as an unprivileged account, which must be able to enter its folders. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { Refusal } from '../../refusal.ts'

export type Account = { readonly name: string; readonly uid: number; readonly gid: number }

/** Accounts that may run the database, in order of preference. */
const candidates = ['steelyard', 'postgres', 'nobody']

/** The account to run the database as; undefined without root, because the database then runs as the current user. */
export function unprivilegedAccount(uid: number | undefined, passwd = '/etc/passwd'): Account | undefined {
  if (uid !== 0) return undefined
  const accounts = readFileSync(passwd, 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .filter((fields) => fields.length >= 4)
    .map(([name, , id, group]): Account => ({ name: name!, uid: Number(id), gid: Number(group) }))
  const found = candidates.map((name) => accounts.find((a) => a.name === name && a.uid > 0)).find((a) => a !== undefined)
  if (!found)
    throw new Refusal(
      `PostgreSQL refuses to run as root, and none of the accounts ${candidates.join(', ')} exists: add one, or start Steelyard as another user`,
    )
  return found
}

/** Runs the system's `test` command as the account, or as the current user if there is no account. */
function test(account: Account | undefined, flag: '-x' | '-r', path: string): boolean {
  const identity = account ? { uid: account.uid, gid: account.gid } : {}
  return spawnSync('/bin/sh', ['-c', `test ${flag} "$1"`, 'sh', path], { ...identity, cwd: '/', env: {}, stdio: 'ignore' }).status === 0
}

/** Whether the account can enter a folder or run a file. */
export const canEnter = (account: Account | undefined, path: string): boolean => test(account, '-x', path)
