// Detects whether something must be built again. Used by `start.mjs`, which the machine's own
// Node.js runs, so it is plain JavaScript.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * SHA-256 over the names and contents of files and folders, without built files, and over
 * `settings`.
 */
export function hashOf(paths, settings = '') {
  const hash = createHash('sha256').update(settings)
  const add = (path) => {
    if (!existsSync(path)) return
    let entries
    try {
      entries = readdirSync(path, { withFileTypes: true })
    } catch {
      hash.update(`\0${path}\0`).update(readFileSync(path))
      return
    }
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1)))
      if (entry.name !== 'dist') add(join(path, entry.name))
  }
  for (const path of paths) add(path)
  return hash.digest('hex')
}

/** Changes with the sources of the bundled program. */
export const hashOfProgram = () =>
  hashOf(['backend', 'contract', 'redfish', 'talos', 'package-lock.json'])

/**
 * Changes with the sources of the console, and with the settings that its build reads from the
 * environment.
 */
export function hashOfConsole(environment) {
  const settings = Object.entries(environment).filter(([name]) => name.startsWith('VITE_'))
  return hashOf(
    ['console', 'contract', 'package-lock.json'],
    JSON.stringify(settings.toSorted(([a], [b]) => (a < b ? -1 : 1))),
  )
}
