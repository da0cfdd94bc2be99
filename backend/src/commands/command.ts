/** What the program's short commands have in common: settings, the database, and error messages. */
import { stat } from 'node:fs/promises'
import path from 'node:path'
import { type Config, ConfigRefused, readConfig } from '../config.ts'
import type { Database } from '../db/db.ts'
import { openDatabase } from '../db/open.ts'
import { type Log, silent } from '../log.ts'
import { Refusal } from '../refusal.ts'
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
 * Called before the database is opened, because that makes the data folder. @throws Refusal unless
 * Steelyard has run with it, or has a database elsewhere
 */
export async function demandHasRun({ databaseUrl, dataFolder }: Config): Promise<void> {
  if (databaseUrl !== undefined) return
  if (!(await stat(path.join(dataFolder, 'process-id')).catch(() => undefined)))
    throw new Refusal(
      `Steelyard has not run with the data folder ${dataFolder} yet: set STEELYARD_DATA to the right one`,
    )
}

/**
 * Opens the database, runs `work` and closes the database. By default another Steelyard may use the
 * database at the same time, and a missing embedded database is made.
 */
export async function withDatabase<T>(
  config: Config,
  { machine }: Surroundings,
  act: (database: Database) => Promise<T>,
  {
    log = silent,
    beside = true,
    mayMake = true,
    waitMs,
  }: { log?: Log; beside?: boolean; mayMake?: boolean; waitMs?: number } = {},
): Promise<T> {
  const opened = await openDatabase({
    config,
    machine,
    log,
    beside,
    mayMake,
    ...(waitMs !== undefined && { waitMs }),
  })
  try {
    return await act(opened.database)
  } finally {
    await opened.close()
  }
}
