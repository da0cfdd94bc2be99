import type { FastifyInstance } from 'fastify'
import { authorize, authorizeLogout, authorizeRefresh, preferencesGet, preferencesPut, sessionEnd, sessionGet, sessionList } from '#contract/sessions.ts'
import { serve, signedIn } from '../../http/serve.ts'
import type { OpenSessions } from './open-sessions.ts'
import type { Sessions } from './sessions.ts'

export function sessionRoutes(app: FastifyInstance, sessions: Sessions, open: OpenSessions): void {
  const on = serve(app)
  // Sign-ins wait in the hashing queue, so they must not hold a place among the other requests.
  serve(app, { hasOwnQueue: true })(authorize, async ({ caller, body, userAgent, ip, cookies, isEncrypted, header }) => {
    const { deviceCookie, ...answer } = await sessions.signIn(caller, { ...body, ip, userAgent, cookies, isEncrypted })
    header('set-cookie', deviceCookie)
    return answer
  })
  on(authorizeRefresh, ({ caller, body }) => sessions.refresh(caller, body))
  on(authorizeLogout, async ({ caller, body, header }) => {
    await sessions.logout(caller, body.refresh_token)
    // Clears what the console keeps in the browser, even if its own clean-up fails.
    header('clear-site-data', '"storage"')
    return undefined
  })
  on(sessionGet, ({ caller, tokenEndsAt }) => sessions.current(signedIn(caller), tokenEndsAt!))
  on(sessionList, ({ caller, query }) => open.list(signedIn(caller), query))
  on(sessionEnd, ({ caller, params }) => open.endOne(signedIn(caller), params.id).then(() => undefined))
  on(preferencesGet, ({ caller }) => sessions.preferences(signedIn(caller)))
  on(preferencesPut, ({ caller, body }) => sessions.putPreferences(signedIn(caller), body))
}
