/** Authenticates the caller and checks the permission of the route's operation before the body is read. A route without operation must be declared `open`. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Problem } from '#contract/errors.ts'
import { permits } from '#contract/permissions.ts'
import type { Log } from '../log.ts'
import type { UserCaller } from './caller.ts'

export type Authenticated = { readonly caller: UserCaller; readonly tokenEndsAt: number }

/** Implemented by the sessions domain. @throws Problem session_expired for any token that isn't valid now */
export type Authenticate = (token: string, request: { ip: string; requestId: string }) => Promise<Authenticated>

const expired = () => new Problem('session_expired', 'Session expired. Please sign in again.')

function bearer(request: FastifyRequest): string {
  const header = request.headers.authorization
  const match = header === undefined ? null : /^Bearer ([A-Za-z0-9._-]{1,4096})$/i.exec(header)
  if (!match) throw expired()
  return match[1]!
}

export function guard(app: FastifyInstance, { authenticate, log }: { authenticate: Authenticate; log: Log }): void {
  app.decorateRequest('caller')
  app.decorateRequest('tokenEndsAt', undefined)

  app.addHook('onRoute', (route) => {
    if (route.url.startsWith('/v1/') && route.url !== '/v1/openapi.json' && !route.config?.operation && !route.config?.open) {
      throw new Error(`${String(route.method)} ${route.url} declares no operation, so nobody knows who may call it`)
    }
  })

  app.addHook('onRequest', async (request) => {
    request.caller = { kind: 'anonymous', ip: request.ip, requestId: request.id }
    const { operation } = request.routeOptions.config
    if (!operation || operation.scope === null) return
    const { caller, tokenEndsAt } = await authenticate(bearer(request), { ip: request.ip, requestId: request.id })
    request.caller = caller
    request.tokenEndsAt = tokenEndsAt
    const verdict = permits(caller.scopes, operation.scope)
    if (!verdict.ok) {
      log.warn('request.forbidden', { request_id: request.id, user_id: caller.userId, operation: operation.name, ip: request.ip })
      throw new Problem('forbidden', verdict.reason)
    }
  })
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A public route outside the contract: health, the OpenAPI document. */
    open?: true
  }
}
