/** What the program's short commands have in common: settings, the database, and error messages. */
import { type Config, ConfigRefused, readConfig } from '../config.ts'
import type { Database } from '../db/db.ts'
import { openDatabase } from '../db/open.ts'
import { type Log, silent } from '../log.ts'
import { exitCodes, type Surroundings } from './surroundings.ts'

export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)

type Failures = {
  readonly sentence?: (error: unknown) => string
  readonly exitCode?: (error: unknown) => number
}

/**
 * Runs a command with its settings. An error is printed as a sentence and determines the exit code.
 */
export async function withSettings(
  { environment, cwd, err }: Surroundings,
  act: (config: Config) => Promise<number>,
  { sentence = messageOf, exitCode = () => exitCodes.failure }: Failures = {},
): Promise<number> {
  try {
    return await act(readConfig(environment, cwd))
  } catch (error) {
    err(`${sentence(error)}\n`)
    return error instanceof ConfigRefused ? exitCodes.usage : exitCode(error)
  }
}

/**
 * Opens the database, runs `work` and closes the database. By default another Steelyard may use the
 * database at the same time.
 */
export async function withDatabase<T>(
  config: Config,
  { machine }: Surroundings,
  act: (database: Database) => Promise<T>,
  { log = silent, beside = true, waitMs }: { log?: Log; beside?: boolean; waitMs?: number } = {},
): Promise<T> {
  const opened = await openDatabase({
    config,
    machine,
    log,
    beside,
    ...(waitMs !== undefined && { waitMs }),
  })
  try {
    return await act(opened.database)
  } finally {
    await opened.close()
  }
}
