/**
 * PostgreSQL refuses to run as root. If Steelyard runs as root, PostgreSQL runs as the system
 * account `steelyard`, which nothing else uses, so that no other program of the machine can read
 * the database's files.
 */
import { spawnSync } from 'node:child_process'
import { accessSync, constants, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../../log.ts'
import type { Machine } from '../../machine.ts'
import { Refusal } from '../../refusal.ts'

export type Account = { readonly name: string; readonly uid: number; readonly gid: number }

export const accountName = 'steelyard'

/** How `useradd` and `id` are found, whatever PATH this process was started with. */
const systemPath = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' }

/** Exit code of useradd(8) if another process holds the lock of the file. */
const cannotUpdate = 1
const attempts = 50
const pauseMs = 200

/**
 * An account by its name. `id` knows the accounts of a directory service too, as on macOS, but
 * takes a process.
 */
function find(name: string): Account | undefined {
  const fields = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .find((line) => line[0] === name)
  if (fields) return { name, uid: Number(fields[2]), gid: Number(fields[3]) }
  const ask = (flag: string) =>
    spawnSync('id', [flag, name], { env: systemPath, encoding: 'utf8' }).stdout?.trim() ?? ''
  const [uid, gid] = [ask('-u'), ask('-g')]
  return /^\d+$/.test(uid) && /^\d+$/.test(gid)
    ? { name, uid: Number(uid), gid: Number(gid) }
    : undefined
}

/** The command that creates the account. */
function creation(platform: string, name: string): string {
  if (platform !== 'linux')
    return ['', ' UniqueID 399', ' PrimaryGroupID 399', ' UserShell /usr/bin/false']
      .map((value) => `dscl . -create /Users/${name}${value}`)
      .join(' && ')
  const hasGroup = readFileSync('/etc/group', 'utf8')
    .split('\n')
    .some((line) => line.startsWith(`${name}:`))
  return `useradd --system ${hasGroup ? `--gid ${name}` : '--user-group'} --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin ${name}`
}

/**
 * The account to run the database as; undefined without root, because the database then runs as the
 * current user. Creates the account if it is missing.
 * @throws Refusal with the command that creates the account, if that fails
 */
export async function databaseAccount(
  { uid, platform }: Machine,
  log: Log,
  name = accountName,
): Promise<Account | undefined> {
  if (uid !== 0) return undefined
  let reason = `Steelyard doesn't create accounts on ${platform}`
  for (let attempt = 1; ; attempt++) {
    const found = find(name)
    if (found?.uid === 0)
      throw new Refusal(
        `The account ${name} has root's rights, and PostgreSQL refuses to run as root: change its user id`,
      )
    if (found) return found
    const command = creation(platform, name)
    let isBusy = false
    if (platform === 'linux') {
      const [program, ...args] = command.split(' ')
      const { status, stderr, error } = spawnSync(program!, args, {
        env: systemPath,
        encoding: 'utf8',
      })
      if (status === 0) log.info('database.account_created', { account: name })
      reason = stderr?.trim() || error?.message || `useradd ended with ${status ?? 'a signal'}`
      // Another process that starts at the same time may be creating the account.
      isBusy = find(name) !== undefined || (status === cannotUpdate && reason.includes('lock'))
    }
    if (!isBusy || attempt === attempts)
      throw new Refusal(
        `As root, Steelyard runs its database as the account ${name}, which can't be created: ${reason}. Create it with "${command}", or start Steelyard as another user`,
      )
    if (find(name) === undefined) await sleep(pauseMs)
  }
}

/**
 * The account of the database if it exists; else one without any rights, to which the same folders
 * are open as to a new account.
 */
export const accountOrStranger = (uid: number | undefined): Account | undefined =>
  uid === 0 ? (find(accountName) ?? { name: accountName, uid: 65_534, gid: 65_534 }) : undefined

/**
 * Whether the account, or the current user if there is no account, can enter a folder or run a
 * file. Only for an account does it take a process: the image for containers has no shell.
 */
export function canEnter(account: Account | undefined, path: string): boolean {
  if (account === undefined)
    try {
      accessSync(path, constants.X_OK)
      return true
    } catch {
      return false
    }
  const { uid, gid } = account
  const how = { uid, gid, cwd: '/', env: {}, stdio: 'ignore' } as const
  return spawnSync('/bin/sh', ['-c', 'test -x "$1"', 'sh', path], how).status === 0
}
