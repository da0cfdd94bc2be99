/** The process environment of a command, made by `main.ts`, the only file that reads `process`. */
import type { Machine } from '../machine.ts'

export interface Surroundings {
  readonly machine: Machine
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  /** Folder of the repository: the console's build and the command line's bundle lie there. */
  readonly home: string
  readonly version: string
  readonly out: (text: string) => void
  readonly err: (text: string) => void
  /** Whether standard error is a terminal: logs are then one readable line each. */
  readonly readable: boolean
  /** Ends the process at once, without a chance to clean up; for failpoints. */
  readonly kill: () => never
  /** Resolves at the first signal that asks the program to stop. */
  readonly stopAsked: Promise<string>
  /** Whether standard input is a terminal, where a person can be asked. */
  readonly interactive: boolean
  /** A line typed without being shown where standard input is a terminal, else the first line of it. */
  readonly askSecret: (question: string) => Promise<string>
}

/** Exit codes of the program's own commands: the same numbers as the command line's (docs/cli.md). */
export const exitCodes = { ok: 0, failure: 1, usage: 2, conflict: 6, unreachable: 7 } as const
