import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'

/**
 * Writes the state of an object to its file. A killed simulator leaves either the old or the new state, never half of it.
 * Files hold secrets of simulated clusters, so only their owner may read them.
 */
export const writeState = (path: string, value: unknown): void => {
  const temporary = `${path}.${process.pid}.tmp`
  writeFileSync(temporary, JSON.stringify(value), { mode: 0o600 })
  renameSync(temporary, path)
}

/** The state in a file; null if there is none yet. */
export const readState = (path: string): unknown => {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return null
    throw new Error(`The state in ${path} can't be read; remove it to give that object a fresh start`, { cause })
  }
}

export const makeFolder = (path: string): string => {
  mkdirSync(path, { recursive: true, mode: 0o700 })
  return path
}
