/** The process environment of a command, made by `main.ts`, the only file that reads `process`. */
import type { Machine } from '../machine.ts'

export interface Surroundings {
  readonly machine: Machine
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  /** Folder of the repository, which contains the builds of the console and the CLI. */
  readonly home: string
  readonly version: string
  /** How a user of this installation calls its command line: in a checkout by npm. */
  readonly ownCommand: string
  readonly out: (text: string) => void
  readonly err: (text: string) => void
  /** Whether standard error is a terminal; log entries are then readable lines instead of JSON. */
  readonly readable: boolean
  /** Ends the process at once, without a chance to clean up; for failpoints. */
  readonly kill: () => never
  /** Resolves at the first signal that tells the program to stop. */
  readonly stopAsked: Promise<string>
  /** Whether standard input is a terminal, so that the user can be prompted. */
  readonly interactive: boolean
  /** Reads one line from standard input, without echo on a terminal. */
  readonly askSecret: (question: string) => Promise<string>
}

/** Exit codes of the program's own commands: the same numbers as those of the CLI (docs/cli.md). */
export const exitCodes = {
  ok: 0,
  failure: 1,
  usage: 2,
  notFound: 5,
  conflict: 6,
  unreachable: 7,
} as const
