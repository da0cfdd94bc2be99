import type { FastifyInstance } from 'fastify'
import { waitlistJoin, waitlistList } from '#contract/users.ts'
import { serve } from '../../http/serve.ts'
import type { Waitlist } from './waitlist.ts'

export function waitlistRoutes(app: FastifyInstance, waitlist: Waitlist): void {
  const on = serve(app)
  on(waitlistJoin, ({ caller, body, ip }) => waitlist.join(caller, body, ip).then(() => undefined))
  on(waitlistList, ({ query }) => waitlist.list(query))
}
