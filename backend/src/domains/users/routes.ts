import type { FastifyInstance } from 'fastify'
import { userCreate, userList } from '#contract/users.ts'
import { serve } from '../../http/serve.ts'
import type { Users } from './users.ts'

export function userRoutes(app: FastifyInstance, users: Users): void {
  const on = serve(app)
  on(userList, ({ query }) => users.list(query))
  on(userCreate, ({ caller, body }) => users.create(caller, body))
}
