/**
 * Authenticates the caller, and checks what the route's operation demands of the caller before the
 * body is read: a scope, a second factor, a session, a recent proof of identity. A route without
 * operation must be declared `open`.
 */
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import * as z from 'zod/mini'
import { applyHeader, SetName } from '#contract/apply/applied.ts'
import { Problem } from '#contract/errors.ts'
import { mayLackSecondFactor, type Operation } from '#contract/operation.ts'
import { apiTokenPrefix } from '#contract/people/api-tokens.ts'
import { proofMinutes } from '#contract/people/profile.ts'
import type { Clock } from '../clock.ts'
import type { Log } from '../log.ts'
import { demandScope, type UserCaller } from './caller.ts'

export type Authenticated = { readonly caller: UserCaller; readonly tokenEndsAt: number }

/**
 * Implemented by the domains of sessions and API tokens. @throws Problem session_expired for any
 * token that isn't valid now
 */
export type Authenticate = (
  token: string,
  request: { ip: string; requestId: string },
) => Promise<Authenticated>

/** Says why a request without a token, or with what can't be one, isn't a session that ended. */
const noToken = () =>
  new Problem(
    'session_expired',
    'This call needs a token in the header Authorization: Bearer, and the request has none.',
  )
const notAToken = () =>
  new Problem(
    'session_expired',
    `This token is not valid: it is neither an API token, which begins with ${apiTokenPrefix}, nor the access token of a session.`,
  )

/** RFC 6750 §2.1; the name of a scheme is not case-sensitive (RFC 9110 §11.1). */
const scheme = 'bearer '
const longestToken = 4096

/**
 * The last `Authorization` header of each connection and its token. Requests with the same header
 * share one string, so its hash is computed only once.
 */
const lastOf = new WeakMap<Socket, { readonly authorization: string; readonly token: string }>()

function bearer({ headers: { authorization = '' }, socket }: FastifyRequest): string {
  const last = lastOf.get(socket)
  if (last?.authorization === authorization) return last.token
  if (authorization === '') throw noToken()
  const token = authorization.slice(scheme.length)
  // One expression for all of this would count each character, on every request.
  if (
    token.length > longestToken ||
    !/^[A-Za-z0-9._-]+$/.test(token) ||
    !(token.startsWith(apiTokenPrefix) || token.split('.', 4).length === 3) ||
    authorization.slice(0, scheme.length).toLowerCase() !== scheme
  )
    throw notAToken()
  lastOf.set(socket, { authorization, token })
  return token
}

/** @throws Problem bad_request if the name of the set is invalid */
function withAppliedSet(caller: UserCaller, header: string | string[] | undefined): UserCaller {
  if (header === undefined) return caller
  const read = z.safeParse(SetName, header)
  if (!read.success)
    throw new Problem('bad_request', `${applyHeader}: ${read.error.issues[0]!.message}`)
  return { ...caller, appliedSet: read.data }
}

interface GuardParts {
  readonly authenticate: Authenticate
  /**
   * Reads from the database when the session's user last proved their identity, in ms since 1970.
   */
  readonly lastProof: (sessionId: string) => Promise<number>
  readonly clock: Clock
  readonly log: Log
}

const proofMs = proofMinutes * 60_000
/**
 * Tolerated difference between the clocks of processes. A proof that is later counts as none: the
 * clock was set back since.
 */
const aheadMs = 60_000

export function guard(
  app: FastifyInstance,
  { authenticate, lastProof, clock, log }: GuardParts,
): void {
  const isRecent = (at: number): boolean => {
    const ageMs = clock.now() - at
    return ageMs < proofMs && ageMs > -aheadMs
  }
  /** @throws Problem second_factor_required, forbidden, proof_needed */
  const demand = async (caller: UserCaller, operation: Operation): Promise<void> => {
    if (caller.lacksSecondFactor && !mayLackSecondFactor(operation))
      throw new Problem(
        'second_factor_required',
        'Your role requires a second factor. Add one in your profile.',
      )
    demandScope(caller, operation.scope)
    if (caller.isToken) {
      if (operation.session)
        throw new Problem('forbidden', 'An API token may not do this. Sign in to do it.')
      return
    }
    if (!operation.proof || isRecent(caller.provedAt ?? 0)) return
    // The proof may have been given to another process a moment ago.
    if (!isRecent(await lastProof(caller.sessionId)))
      throw new Problem(
        'proof_needed',
        `Confirm that it is you. Your last sign-in or confirmation is more than ${proofMinutes} minutes ago.`,
      )
  }

  app.decorateRequest('caller')
  app.decorateRequest('tokenEndsAt', undefined)

  app.addHook('onRoute', (route) => {
    if (
      route.url.startsWith('/v1/') &&
      route.url !== '/v1/openapi.json' &&
      !route.config?.operation &&
      !route.config?.open
    ) {
      throw new Error(
        `${String(route.method)} ${route.url} declares no operation, so nobody knows who may call it`,
      )
    }
  })

  app.addHook('onRequest', async (request) => {
    request.caller = { kind: 'anonymous', ip: request.ip, requestId: request.id }
    const { operation } = request.routeOptions.config
    if (!operation || operation.scope === null) return
    const { caller, tokenEndsAt } = await authenticate(bearer(request), {
      ip: request.ip,
      requestId: request.id,
    })
    request.caller = withAppliedSet(caller, request.headers[applyHeader])
    request.tokenEndsAt = tokenEndsAt
    try {
      await demand(caller, operation)
    } catch (error) {
      if (error instanceof Problem && error.code === 'forbidden')
        log.warn('request.forbidden', {
          request_id: request.id,
          user_id: caller.userId,
          operation: operation.name,
          ip: request.ip,
        })
      throw error
    }
  })
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A public route outside the contract: health, the OpenAPI document. */
    open?: true
  }
}
