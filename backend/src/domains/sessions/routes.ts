import type { FastifyInstance } from 'fastify'
import { authorize, authorizeLogout, authorizeRefresh, preferencesGet, preferencesPut, sessionGet } from '#contract/sessions.ts'
import { serve, signedIn } from '../../http/serve.ts'
import type { Sessions } from './sessions.ts'

export function sessionRoutes(app: FastifyInstance, sessions: Sessions): void {
  const on = serve(app)
  on(authorize, ({ caller, body, userAgent, ip }) => sessions.signIn(caller, { ...body, ip, userAgent }))
  on(authorizeRefresh, ({ caller, body }) => sessions.refresh(caller, body))
  on(authorizeLogout, ({ caller, body }) => sessions.logout(caller, body.refresh_token).then(() => undefined))
  on(sessionGet, ({ caller, tokenEndsAt }) => sessions.current(signedIn(caller), tokenEndsAt!))
  on(preferencesGet, ({ caller }) => sessions.preferences(signedIn(caller)))
  on(preferencesPut, ({ caller, body }) => sessions.putPreferences(signedIn(caller), body))
}
