/** How tables are printed. */
interface Layout {
  /** Whether a table begins with the titles of its columns. */
  readonly headers: boolean
  /** Tables have all their columns, and nothing is cut to fit the terminal. */
  readonly wide: boolean
}

/** The environment of the process, injected for tests. Only start.ts reads `process`. */
export interface Terminal {
  /** Standard output: only the result. */
  out(text: string): void
  /** Standard error: progress, warnings, errors. */
  err(text: string): void
  /**
   * Columns of standard output. Null if standard output is not a terminal; then nothing is
   * truncated.
   */
  readonly columns: number | null
  /** Lines of standard output. Null if standard output is not a terminal. */
  readonly rows: number | null
  /**
   * Columns of standard error. Null if standard error is not a terminal; then no line is
   * overwritten.
   */
  readonly errColumns: number | null
  readonly colour: boolean
  /** Default: titles, fitted to the terminal. */
  readonly layout?: Layout
  readonly env: Readonly<Record<string, string | undefined>>
  /** Milliseconds since 1970. */
  now(): number
  /** Resolves after a time, or when the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /**
   * Prompts the user, without echo for secrets. Null if there is no terminal. Throws CliError
   * `interrupted` on Ctrl-C.
   */
  ask(question: string, options: { secret: boolean }): Promise<string | null>
  /**
   * From now on, a reader of standard output or standard error that goes away doesn't end the
   * process, and what can't be written is dropped: changes are being made, and a run that ends
   * between two of them would say nothing about the rest.
   */
  outlivePipes(): void
  /** All of standard input. */
  readAll(): Promise<string>
  /**
   * Returns a signal that is aborted on the next Ctrl-C. Before the first call of this function,
   * Ctrl-C ends the process.
   */
  interrupted(): AbortSignal
}

const codes = { bold: 1, red: 31, green: 32, yellow: 33, dim: 2 } as const
export type Colour = keyof typeof codes
export const paint = (terminal: Pick<Terminal, 'colour'>, colour: Colour, text: string): string =>
  terminal.colour && text !== '' ? `\u001b[${codes[colour]}m${text}\u001b[0m` : text

/** The terminal with another layout. Its size is still read each time, because it may change. */
export const withLayout = (terminal: Terminal, layout: Layout): Terminal =>
  Object.create(terminal, { layout: { value: layout } }) as Terminal
