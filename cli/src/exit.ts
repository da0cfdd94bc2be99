import * as z from 'zod/mini'

/** Exit codes. Stable and documented in docs/cli.md, because scripts branch on them. */
export const exitCodes = {
  ok: 0,
  /** The command failed, or the operation for which it waited failed or was cancelled. */
  failure: 1,
  /** The command line is invalid. Nothing was changed. */
  usage: 2,
  not_signed_in: 3,
  forbidden: 4,
  not_found: 5,
  /** Conflict: a name is taken, a server reserved, a version stale. */
  conflict: 6,
  /** Steelyard can't be reached or can't answer now. A retry may succeed. */
  unreachable: 7,
  /** Ctrl-C (128 + SIGINT). */
  interrupted: 130,
} as const
export type Exit = keyof typeof exitCodes

/** An error response of the API. A newer server may send a code that this version doesn't know. */
export const Refusal = z.object({
  error: z.string(),
  code: z.string(),
  fields: z.optional(z.record(z.string(), z.string())),
  for_now: z.optional(z.boolean()),
  request_id: z.string(),
})
type Refusal = z.infer<typeof Refusal>

/** An error that ends the command with a message and an exit code. */
export class CliError extends Error {
  readonly exit: Exit
  /** Advice for the user, on a separate line. */
  readonly hint: string | undefined
  /** The API's error response, if there is one. */
  readonly body: Refusal | undefined
  /** Something is silent, busy or not ready yet: the same attempt may succeed later. */
  readonly isForNow: boolean

  constructor(
    exit: Exit,
    message: string,
    more: { hint?: string; body?: Refusal; cause?: unknown; isForNow?: boolean } = {},
  ) {
    super(message, { cause: more.cause })
    this.name = 'CliError'
    this.exit = exit
    this.hint = more.hint
    this.body = more.body
    this.isForNow = more.isForNow ?? more.body?.for_now === true
  }
}

/**
 * The exit code for an error response. Uses the HTTP status, because newer servers may add error
 * codes, but each status keeps its meaning.
 */
export function exitOfStatus(status: number): Exit {
  if (status === 401) return 'not_signed_in'
  if (status === 403) return 'forbidden'
  if (status === 404) return 'not_found'
  if (status === 409 || status === 412) return 'conflict'
  if (status === 429 || status === 502 || status === 503 || status === 504) return 'unreachable'
  return [400, 413, 415, 422].includes(status) ? 'usage' : 'failure'
}
