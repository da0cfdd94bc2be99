import type { FastifyInstance } from 'fastify'
import { passwordChange, passwordReset, passwordResetLook } from '#contract/sessions.ts'
import { userCreate, userList, userRemove, userResetPassword, userUnlock, userUpdate } from '#contract/users.ts'
import { serve, signedIn } from '../../http/serve.ts'
import type { Accounts } from './accounts.ts'
import type { Users } from './users.ts'

export function userRoutes(app: FastifyInstance, users: Users, accounts: Accounts): void {
  const on = serve(app)
  on(userList, ({ query }) => users.list(query))
  on(userCreate, ({ caller, body }) => users.create(caller, body))
  on(userUpdate, ({ caller, params, body, ifMatch }) => accounts.update(caller, params.id, body, ifMatch))
  on(userRemove, ({ caller, params }) => accounts.remove(caller, params.id).then(() => undefined))
  on(userResetPassword, ({ caller, params }) => accounts.resetPassword(caller, params.id))
  on(userUnlock, ({ caller, params }) => accounts.unlock(caller, params.id))
  on(passwordChange, ({ caller, body }) => accounts.changePassword(signedIn(caller), body).then(() => undefined))
  on(passwordResetLook, ({ body }) => accounts.lookAtReset(body))
  on(passwordReset, ({ caller, body }) => accounts.useReset(caller, body).then(() => undefined))
}
