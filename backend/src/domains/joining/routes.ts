import type { FastifyInstance } from 'fastify'
import { joinTokenArrivals, joinTokenCreate, joinTokenGet, joinTokenList, joinTokenRevoke } from '#contract/join-tokens.ts'
import { serve } from '../../http/serve.ts'
import type { Tokens } from './tokens.ts'

export function joinTokenRoutes(app: FastifyInstance, tokens: Tokens): void {
  const on = serve(app)
  on(joinTokenList, ({ query }) => tokens.list(query))
  on(joinTokenGet, ({ params }) => tokens.get(params.id))
  on(joinTokenCreate, ({ caller, body }) => tokens.create(caller, body))
  on(joinTokenRevoke, ({ caller, params, ifMatch }) => tokens.revoke(caller, params.id, ifMatch).then(() => undefined))
  on(joinTokenArrivals, ({ params, query }) => tokens.arrivals(params.id, query))
}
