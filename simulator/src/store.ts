import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'

/**
 * Whether the simulators of this process keep states in files. Tests that start no simulator again
 * with the same folder set it to false, because a cluster writes hundreds of times.
 */
export const files = { areWritten: true }

/**
 * Writes the state of an object to its file. A killed simulator leaves either the whole old state
 * or the whole new state. Files contain secrets of simulated clusters, so only the owner of the
 * files may read them.
 */
export const writeState = (path: string, value: unknown): void => {
  if (!files.areWritten) return
  const temporary = `${path}.${process.pid}.tmp`
  writeFileSync(temporary, JSON.stringify(value), { mode: 0o600 })
  renameSync(temporary, path)
}

/** The state in a file; null if the file doesn't exist yet. */
export const readState = (path: string): unknown => {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return null
    throw new Error(
      `The state in ${path} can't be read; remove it to give that object a fresh start`,
      { cause },
    )
  }
}

export const makeFolder = (path: string): string => {
  mkdirSync(path, { recursive: true, mode: 0o700 })
  return path
}
