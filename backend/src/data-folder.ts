/**
 * Location of the data folder. Used by `npm start` and by the program, so that both use the same
 * folder.
 */
import { existsSync, mkdirSync } from 'node:fs'
import { userInfo } from 'node:os'
import path from 'node:path'
import { accountOrStranger, canEnter } from './db/embedded/account.ts'

/** The data folder for root if other users can't enter the working directory, such as /root. */
export const systemFolder = '/var/lib/steelyard'

/** The nearest existing parent folder. */
const existing = (folder: string): string =>
  existsSync(folder) ? folder : existing(path.dirname(folder))

/** Whether the data folder contains the embedded database. */
export const holdsOne = (folder: string): boolean =>
  existsSync(path.join(folder, 'postgres/PG_VERSION'))

/**
 * The absolute path of the data folder: the given one, else `.steelyard` in the working directory.
 * Under root the database runs as an unprivileged account; if that account can't enter the default
 * folder, `/var/lib/steelyard` is used, unless the default folder already contains a database.
 * @param given text of `STEELYARD_DATA`, if it is set
 */
export function dataFolder(given: string | undefined, cwd: string): string {
  const { uid } = userInfo()
  const wanted = path.resolve(cwd, given ?? '.steelyard')
  if (given !== undefined || uid !== 0) return wanted
  return holdsOne(wanted) || canEnter(accountOrStranger(uid), existing(wanted))
    ? wanted
    : systemFolder
}

/**
 * Creates the folder if it is missing. Under root, other accounts may traverse it to reach the
 * database's folder, but not list it.
 */
export function makeDataFolder(folder: string, uid: number | undefined): void {
  mkdirSync(folder, { recursive: true, mode: uid === 0 ? 0o711 : 0o700 })
}
