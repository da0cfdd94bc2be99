import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'

/**
 * State of the simulation as files, one per object. A write is complete when it returns: a killed simulator has either the old state or the new one, never a half.
 * Files hold the secrets of simulated clusters, so only their owner reads them.
 */
export const writeState = (path: string, value: unknown): void => {
  const temporary = `${path}.${process.pid}.tmp`
  writeFileSync(temporary, JSON.stringify(value), { mode: 0o600 })
  renameSync(temporary, path)
}

/** The state in a file; null where there is none yet. */
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
