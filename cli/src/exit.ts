/** What the process ends with. Documented in docs/cli.md and stable: scripts branch on it. */
export const exitCodes = {
  ok: 0,
  /** It was tried and did not work, or an operation that was waited for failed or was cancelled. */
  failure: 1,
  /** The command line, or a value in it, is wrong. Nothing was changed. */
  usage: 2,
  not_signed_in: 3,
  forbidden: 4,
  not_found: 5,
  /** It contradicts what is there: a name taken, a server reserved, a version that is stale. */
  conflict: 6,
  /** Steelyard could not be reached, or says that it can't answer now. Worth trying again. */
  unreachable: 7,
  /** Ctrl-C (128 + SIGINT). */
  interrupted: 130,
} as const
export type Exit = keyof typeof exitCodes

/** An error answer of the API. Its code may be one that this version doesn't know yet. */
export interface Refusal {
  readonly error: string
  readonly code: string
  readonly fields?: Record<string, string> | undefined
  readonly request_id: string
}

/** Ends the command with a sentence for people and an exit code for scripts. */
export class CliError extends Error {
  readonly exit: Exit
  /** What to do about it, on a line of its own. */
  readonly hint: string | undefined
  /** The API's own words, where it was the API that refused. */
  readonly body: Refusal | undefined

  constructor(exit: Exit, message: string, more: { hint?: string; body?: Refusal; cause?: unknown } = {}) {
    super(message, { cause: more.cause })
    this.name = 'CliError'
    this.exit = exit
    this.hint = more.hint
    this.body = more.body
  }
}

/** The exit code of an API answer, by its status: codes may be added, statuses keep their meaning. */
export function exitOfStatus(status: number): Exit {
  if (status === 401) return 'not_signed_in'
  if (status === 403) return 'forbidden'
  if (status === 404) return 'not_found'
  if (status === 409 || status === 412) return 'conflict'
  if (status === 429 || status === 502 || status === 503 || status === 504) return 'unreachable'
  return [400, 413, 415, 422].includes(status) ? 'usage' : 'failure'
}
