import type { FastifyInstance } from 'fastify'
import { authorize, authorizeLogout, authorizeRefresh, preferencesGet, preferencesPut, sessionGet } from '#contract/sessions.ts'
import { serve, signedIn } from '../../http/serve.ts'
import type { Sessions } from './sessions.ts'

export function sessionRoutes(app: FastifyInstance, sessions: Sessions): void {
  const on = serve(app)
  on(authorize, ({ caller, body, userAgent, ip }) => sessions.signIn(caller, { ...body, ip, userAgent }))
  on(authorizeRefresh, ({ caller, body }) => sessions.refresh(caller, body))
  on(authorizeLogout, async ({ caller, body, header }) => {
    await sessions.logout(caller, body.refresh_token)
    // What the console keeps in the browser goes with an explicit log out, whatever becomes of its own clean-up.
    header('clear-site-data', '"storage"')
    return undefined
  })
  on(sessionGet, ({ caller, tokenEndsAt }) => sessions.current(signedIn(caller), tokenEndsAt!))
  on(preferencesGet, ({ caller }) => sessions.preferences(signedIn(caller)))
  on(preferencesPut, ({ caller, body }) => sessions.putPreferences(signedIn(caller), body))
}
