/**
 * Compares answers of the app with the contract. Used only in tests: at run time the types and
 * `serve` ensure that answers match.
 */
import { isDeepStrictEqual } from 'node:util'
import * as z from 'zod/mini'
import { type ErrorBody, type ErrorCode, errors, relatedKinds } from '#contract/errors.ts'
import { errorsOf, type Operation } from '#contract/operation.ts'

/** The checked parts of an answer. */
export interface Answered {
  readonly statusCode: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}

const ErrorAnswer = z.strictObject({
  error: z.string().check(z.minLength(1), z.maxLength(2000)),
  code: z.enum(Object.keys(errors) as [ErrorCode, ...ErrorCode[]]),
  fields: z.optional(z.record(z.string(), z.string())),
  related: z.optional(
    z.strictObject({ kind: z.enum(relatedKinds), id: z.uuid(), name: z.string() }),
  ),
  for_now: z.optional(z.literal(true)),
  request_id: z.uuid(),
})

const say = (operation: Operation, { statusCode, body }: Answered, what: string): never => {
  throw new Error(`${operation.name} answered ${statusCode}, ${what}: ${body.slice(0, 2000)}`)
}

/**
 * @throws Error if the body isn't the declared error shape, or its status doesn't match its code
 */
export function checkProblem({ statusCode, headers, body }: Answered): ErrorBody {
  const problem = z.parse(ErrorAnswer, JSON.parse(body)) as ErrorBody
  if (errors[problem.code].status !== statusCode)
    throw new Error(`${problem.code} was answered with ${statusCode}`)
  if (problem.request_id !== headers['x-request-id'])
    throw new Error('The request id differs from the one in the header')
  if (
    (statusCode === 429 || statusCode === 503) &&
    !/^[1-9]\d*$/.test(String(headers['retry-after']))
  )
    throw new Error(`${statusCode} without Retry-After`)
  return problem
}

/** Path of the first difference between two JSON values. */
function difference(one: unknown, other: unknown, at = ''): string {
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null)
    return at
  const keys = [...new Set([...Object.keys(one), ...Object.keys(other)])]
  const key = keys.find(
    (k) =>
      !isDeepStrictEqual(
        (one as Record<string, unknown>)[k],
        (other as Record<string, unknown>)[k],
      ),
  )
  return key === undefined
    ? at
    : difference(
        (one as Record<string, unknown>)[key],
        (other as Record<string, unknown>)[key],
        `${at}.${key}`,
      )
}

/**
 * Checks an answer against the operation's declaration: status, media type, every field of the
 * body, the code of an error.
 * @throws Error that names what differs
 */
export function checkAnswer(operation: Operation, answered: Answered): void {
  const { statusCode, headers, body } = answered
  if (statusCode >= 400) {
    const { code } = checkProblem(answered)
    if (code === 'internal') say(operation, answered, 'our fault')
    if (!errorsOf(operation).has(code)) say(operation, answered, `which it does not declare`)
    return
  }
  if (statusCode === 304) return
  if (statusCode !== operation.status) say(operation, answered, `not ${operation.status}`)
  if (statusCode === 204) {
    if (body !== '') say(operation, answered, 'with a body')
    return
  }
  const type = String(headers['content-type'])
  if (type !== `${operation.media}; charset=utf-8`) say(operation, answered, `as ${type}`)
  if (operation.media !== 'application/json') return
  const json: unknown = JSON.parse(body)
  const read = z.safeParse(operation.answer, json)
  if (!read.success)
    return say(operation, answered, `against its schema: ${z.prettifyError(read.error)}`)
  // Parsing removes unknown fields and adds defaults, so a difference means that the answer had
  // unknown fields or lacked some.
  if (!isDeepStrictEqual(read.data, json))
    say(operation, answered, `which differs from its schema at ${difference(read.data, json)}`)
}
