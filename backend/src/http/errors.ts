/**
 * Converts errors to `{error, code, fields?, related?, for_now?, request_id}`. Only a Problem's sentence
 * reaches the caller; any other error is a 500 without details.
 */
import { STATUS_CODES } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type * as z from 'zod/mini'
import { type ErrorBody, type ErrorCode, errors, Problem } from '#contract/errors.ts'
import type { Verdict } from '#contract/rule.ts'
import { noPast } from '#contract/history/past.ts'
import { isGeneral } from '#contract/sentences.ts'
import {
  canLose,
  type LossConsent,
  type ServerLoss,
  undoAfter,
  undoRule,
} from '#contract/servers/losses.ts'
import { type Cause, causeOf } from '../causes/causes.ts'
import type { Log } from '../log.ts'

/**
 * Longest list of fields in a response. Limited, because a hostile body could cause a long list.
 */
const mostFields = 50
/** Longest path of a field, in characters: a key that the caller chose may be a part of it. */
const longestPath = 400

/**
 * Sentence per field path, such as `servers.0.role`; a problem with the body as a whole is under
 * the empty name.
 */
function fieldsOf(issues: readonly z.core.$ZodIssue[]): Record<string, string> {
  const fields: [string, string][] = []
  for (const issue of issues) {
    const at = issue.path.map(String).join('.').slice(0, longestPath)
    if (issue.code === 'unrecognized_keys')
      for (const key of issue.keys) fields.push([at === '' ? key : `${at}.${key}`, 'Unknown field'])
    // For an invalid key the inner issue has the message about the expected value.
    else
      fields.push([
        at,
        (issue.code === 'invalid_key' ? issue.issues[0]?.message : undefined) ?? issue.message,
      ])
  }
  // If a field has several sentences, the first one is kept.
  return Object.fromEntries(fields.slice(0, mostFields).toReversed())
}

const sentence = (fields: Record<string, string>): string => {
  const [name, text] = Object.entries(fields).at(-1) ?? ['', 'Invalid input']
  return name === '' || !isGeneral(text)
    ? text
    : text.startsWith('Expected')
      ? `${name.slice(0, 80)}: ${text}`
      : `${text}: ${name.slice(0, 80)}`
}

export const unreadable = (issues: readonly z.core.$ZodIssue[]): Problem => {
  const fields = fieldsOf(issues)
  if (fields['at'] === 'Unknown field') fields['at'] = noPast
  return new Problem('bad_request', sentence(fields), fields)
}
export const invalid = (issues: readonly z.core.$ZodIssue[]): Problem => {
  const fields = fieldsOf(issues)
  return new Problem('invalid', sentence(fields), fields)
}

/** Throws a Problem with the code and the verdict's reason if the verdict is a refusal. */
export function demand(verdict: Verdict, code: ErrorCode): void {
  if (!verdict.ok) throw Problem.of(code, verdict)
}

/** Errors of the framework that are the caller's fault, by the framework's code. */
const frameworkProblems: Record<string, [ErrorCode, string]> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['unsupported_media', 'The body must be application/json'],
  FST_ERR_BAD_URL: ['bad_request', 'The path cannot be read'],
  FST_ERR_MAX_PARAM_LENGTH: ['not_found', 'There is no such path'],
}

/**
 * Default `Retry-After` of 429 and 503. Silent servers are contacted again after 20 s, so an
 * earlier retry would get the same response.
 */
const usualRetrySeconds = 20
const retryAfter = (random: () => number): number => 1 + Math.floor(random() * 5)

/**
 * What the causes that a caller can wait out are told as. `peer_silent` is an error that no use-case
 * has turned into a sentence of its own.
 */
const unavailable: Partial<Record<Cause, string>> = {
  database_away: 'The database cannot be reached. Nothing was changed; please try again.',
  database_silent: 'The database did not answer in time. Please try again.',
  database_unsure:
    'The database was lost while the change was stored, so it may be done. Look before you try again.',
  database_busy: 'The database is too busy. Please try again.',
  database_full:
    'The disk of the database is full. Nothing was changed; make room on it, then try again.',
  peer_silent: 'The other side did not answer. Please try again.',
}

/** Converts an error to a Problem; undefined for internal errors. */
export function asProblem(error: unknown, random: () => number): Problem | undefined {
  if (error instanceof Problem) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const known = frameworkProblems[code]
  if (known) return new Problem(known[0], known[1])
  const cause = causeOf(error)
  const sentence = unavailable[cause]
  return sentence === undefined
    ? undefined
    : new Problem(
        'unavailable',
        sentence,
        undefined,
        // Nobody makes room on a disk within seconds, and nobody has looked within seconds.
        cause === 'database_full' || cause === 'database_unsure' ? undefined : retryAfter(random),
      )
}

export function errorHandler({ log, random }: { log: Log; random: () => number }) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    // The client disconnected while it sent its body. The error isn't logged, because anybody could
    // fill the log that way.
    if (request.raw.destroyed && !request.raw.complete)
      return sendProblem(request, reply, new Problem('bad_request', 'The request is incomplete'))
    const problem = asProblem(error, random)
    const cause = causeOf(error)
    if (!problem || cause === 'peer_silent')
      log.error('request.failed', {
        request_id: request.id,
        method: request.method,
        path: request.routeOptions.url ?? '',
        error,
      })
    else if (cause === 'database_full')
      log.error('database.full', { request_id: request.id, error })
    sendProblem(
      request,
      reply,
      problem ?? new Problem('internal', 'Something went wrong on our side'),
    )
  }
}

export function sendProblem(request: FastifyRequest, reply: FastifyReply, problem: Problem): void {
  const body: ErrorBody = {
    error: problem.message,
    code: problem.code,
    ...(problem.fields && { fields: problem.fields }),
    ...(problem.related && { related: problem.related }),
    ...(problem.kind === 'for_now' && { for_now: true as const }),
    request_id: request.id,
  }
  const { status } = errors[problem.code]
  // 429 and 503 always have a Retry-After, even if the Problem sets none.
  const seconds =
    problem.retryAfterSeconds ?? (status === 429 || status === 503 ? usualRetrySeconds : undefined)
  if (seconds !== undefined)
    void reply.header('retry-after', String(Math.max(1, Math.ceil(seconds))))
  if (problem.code === 'session_expired') void reply.header('www-authenticate', 'Bearer')
  const isProblem = acceptsProblem(request.headers.accept)
  const sent = isProblem
    ? {
        // The type says nothing more than the status (RFC 9457 §4.2.1); `code` does.
        type: 'about:blank',
        title: STATUS_CODES[status],
        status,
        detail: problem.message,
        ...body,
      }
    : body
  // Bytes, because Fastify would add a charset to the type of a text. JSON has none (RFC 8259 §11),
  // and clients that oapi-codegen makes tell the two forms apart by the exact type.
  void reply
    .status(status)
    .type(isProblem ? 'application/problem+json' : 'application/json')
    .send(Buffer.from(JSON.stringify(sent)))
}

/** Whether a header `Accept` names problem details (RFC 9457), and doesn't refuse them. */
const acceptsProblem = (accept: string | undefined): boolean =>
  (accept ?? '').split(',').some((part) => {
    const [media = '', ...parameters] = part.toLowerCase().split(';')
    return (
      media.trim() === 'application/problem+json' &&
      !parameters.some((p) => /^\s*q=0(?:\.0*)?\s*$/.test(p))
    )
  })

/**
 * Refuses a change after which Steelyard would no longer reach a server, unless its loss is
 * confirmed. One field names the server, so that clients can ask for its name; the other is there if a
 * trial reaches the change, so that they can ask after which time Talos undoes it.
 * @throws Problem loss_not_confirmed
 */
export function demandNoLoss(
  losses: readonly Pick<ServerLoss, 'name' | 'reason' | 'tried'>[],
  confirmed: readonly LossConsent[],
): void {
  const verdict = canLose(losses, confirmed)
  if (verdict.ok) return
  const { name, tried } = losses.find((loss) => undoAfter(loss.name, confirmed) === undefined)!
  throw new Problem('loss_not_confirmed', verdict.reason, {
    confirmed_loss: name,
    ...(tried && { undo_after_seconds: undoRule }),
  })
}
