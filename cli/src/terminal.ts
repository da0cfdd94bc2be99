/** The outside of the process, passed in so that a test can hold it. Only start.ts reads `process`. */
export interface Terminal {
  /** Standard output: what was asked for, and nothing else. */
  out(text: string): void
  /** Standard error: progress, warnings, refusals. */
  err(text: string): void
  /** Columns of standard output; null where it is no terminal: then nothing is cut. */
  readonly columns: number | null
  /** Columns of standard error; null where it is no terminal: then no line is drawn over. */
  readonly errColumns: number | null
  readonly colour: boolean
  readonly env: Readonly<Record<string, string | undefined>>
  /** Milliseconds since 1970. */
  now(): number
  /** Resolves after a time, or at once when the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Asks a person; null where there is none at the keyboard. Without echo for secrets. Throws CliError `interrupted` on Ctrl-C. */
  ask(question: string, options: { secret: boolean }): Promise<string | null>
  /** All of standard input. */
  readAll(): Promise<string>
  /** Aborted by the first Ctrl-C after the call; before it, Ctrl-C ends the process. */
  interrupted(): AbortSignal
}

const codes = { bold: 1, red: 31, green: 32, yellow: 33, dim: 2 } as const
export type Colour = keyof typeof codes
export const paint = (terminal: Pick<Terminal, 'colour'>, colour: Colour, text: string): string =>
  terminal.colour && text !== '' ? `\u001b[${codes[colour]}m${text}\u001b[0m` : text
