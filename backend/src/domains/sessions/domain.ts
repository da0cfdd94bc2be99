/** Constructs the sessions domain: sign-in, open sessions, second factors and the own account. */
import { Problem } from '#contract/errors.ts'
import {
  authorizePasskeyBegin,
  passkeyAdd,
  passkeyBegin,
  passkeyRemove,
  passkeyRename,
} from '#contract/people/passkeys.ts'
import { preferencesGet, preferencesPut } from '#contract/people/preferences.ts'
import {
  profileGet,
  profileUpdate,
  sessionProve,
  sessionProvePasskey,
  sessionProveProvider,
} from '#contract/people/profile.ts'
import {
  recoveryCodesRenew,
  totpBegin,
  totpConfirm,
  totpRemove,
} from '#contract/people/second-factor.ts'
import {
  authorizePasskey,
  authorizeProvider,
  authorizeProviderFinish,
} from '#contract/people/sign-in.ts'
import {
  authorize,
  authorizeLogout,
  authorizeRefresh,
  sessionEnd,
  sessionEndAll,
  sessionGet,
  sessionList,
} from '#contract/sessions.ts'
import { type StrangerLimits, strangers } from '../../http/load/strangers.ts'
import { type CallContext, serve, signedIn } from '../../http/serve.ts'
import type { Domain, Platform } from '../../platform.ts'
import type { Sessions } from './api.ts'
import { challenges as makeChallenges } from './challenges/challenges.ts'
import { devices } from './devices.ts'
import { openSessions } from './open-sessions.ts'
import { isOwnPassword } from './own-password.ts'
import { profile as makeProfile } from './profile.ts'
import { provider as makeProvider } from './provider/provider.ts'
import { passkeys as makePasskeys } from './second-factor/passkeys.ts'
import { secondFactors as makeSecondFactors } from './second-factor/second-factor.ts'
import { sessions as makeSessions } from './sessions.ts'
import type { SessionParts, Started } from './sign-in.ts'
import { throttle } from './throttle.ts'
import { tokens } from './tokens.ts'

/**
 * Sign-ins that may be begun with a passkey or at the provider: each stores a challenge for some
 * minutes, so anybody could fill the database.
 */
const beginnings: StrangerLimits = {
  ofSource: { perSecond: 1 / 2, burst: 20 },
  inAll: { perSecond: 5, burst: 500 },
  reserve: { perSecond: 5, burst: 500 },
}

interface DomainParts extends Platform, Pick<SessionParts, 'users' | 'invitations' | 'apiTokens'> {
  /** 32 secret bytes of this installation. */
  readonly installationKey: () => Promise<Uint8Array>
  /** Called for every session that ends, in any process. */
  readonly onRevoked: (sessionId: string) => void
}

/** The parts of the domain, which know each other only through their parameters. */
export function sessionParts({
  users,
  invitations,
  apiTokens,
  installationKey,
  onRevoked,
  ...platform
}: DomainParts) {
  const { config } = platform
  const idleMs = config.sessionIdleHours * 3600_000
  const open = openSessions({ ...platform, idleMs, onRevoked })
  const secondFactors = makeSecondFactors({ ...platform, open, installationKey })
  const challenges = makeChallenges({ ...platform, installationKey })
  return {
    ...platform,
    users,
    invitations,
    apiTokens,
    open,
    secondFactors,
    challenges,
    throttle: throttle(platform),
    passkeys: makePasskeys({ ...platform, challenges, secondFactors }),
    provider: makeProvider({ ...platform, challenges }),
    tokens: tokens(platform),
    devices: devices(installationKey, config),
    rotationKey: installationKey,
  }
}

export function sessionDomain(given: DomainParts): Sessions & Domain {
  const parts = sessionParts(given)
  const { clock, open, passkeys, provider, secondFactors, challenges } = parts
  const sessions = makeSessions(parts)
  const profile = makeProfile(parts)

  const signInRoutes: Domain['routes'] = (app) => {
    const on = serve(app)
    const pace = strangers({ ...beginnings, clock })
    /** @throws Problem throttled */
    const demandPace = async ({ caller, ip }: CallContext): Promise<void> => {
      const { waitMs, isOfAll } = pace(ip)
      if (waitMs === 0) return
      const problem = new Problem(
        'throttled',
        'Too many sign-ins were begun. Please wait a moment.',
        undefined,
        waitMs / 1000,
      )
      throw isOfAll ? await sessions.refused(caller, problem, { person: undefined, ip }) : problem
    }
    const answerOf = <T extends Started>(
      { deviceCookie, ...answer }: T,
      header: (name: string, value: string) => void,
    ) => {
      header('set-cookie', deviceCookie)
      return answer
    }
    // Sign-ins wait in the hashing queue, so they don't count against the limit of concurrent
    // requests.
    serve(app, { hasOwnQueue: true })(authorize, async (call) =>
      answerOf(await sessions.signIn(call.caller, call.body, call, call.signal), call.header),
    )
    app.addHook('preClose', async () => sessions.release())
    app.addHook('onClose', () => sessions.close())
    on(authorizePasskeyBegin, async (call) => {
      await demandPace(call)
      return sessions.beginPasskey()
    })
    on(authorizePasskey, async ({ caller, body, header, ...from }) =>
      answerOf(await sessions.signInWithPasskey(caller, body, from), header),
    )
    on(authorizeProvider, async (call) => {
      await demandPace(call)
      const { url, cookie } = await provider.begin(call, call.body.return_to)
      call.header('set-cookie', cookie)
      return { url }
    })
    on(authorizeProviderFinish, async ({ caller, body, header, ...from }) =>
      answerOf(await sessions.signInWithProvider(caller, body, from), header),
    )
    on(authorizeRefresh, ({ caller, body }) => sessions.refresh(caller, body))
    on(authorizeLogout, async ({ caller, body, header }) => {
      await sessions.logout(caller, body.refresh_token)
      // Clears what the console stores in the browser, even if the console's own clean-up fails.
      header('clear-site-data', '"storage"')
      return undefined
    })
    on(sessionGet, ({ caller, tokenEndsAt }) => sessions.current(signedIn(caller), tokenEndsAt!))
    on(sessionList, ({ caller, query }) => open.list(signedIn(caller), query))
    on(sessionEndAll, ({ caller, query }) => open.endAllOf(signedIn(caller), query.user_id))
    on(sessionEnd, ({ caller, params }) =>
      open.endOne(signedIn(caller), params.id).then(() => undefined),
    )
    on(preferencesGet, ({ caller }) => sessions.preferences(signedIn(caller)))
    on(preferencesPut, ({ caller, body }) => sessions.putPreferences(signedIn(caller), body))
  }

  const profileRoutes: Domain['routes'] = (app) => {
    const on = serve(app)
    app.addHook('onClose', () => profile.close())
    on(profileGet, ({ caller }) => profile.get(signedIn(caller)))
    on(profileUpdate, ({ caller, body }) => profile.rename(signedIn(caller), body.name))
    on(sessionProve, ({ caller, body }) => profile.prove(signedIn(caller), body))
    on(sessionProvePasskey, ({ caller }) => passkeys.beginProof(signedIn(caller)))
    on(sessionProveProvider, ({ caller, body }) =>
      provider.beginProof(signedIn(caller), body.return_to),
    )
    on(totpBegin, ({ caller }) => secondFactors.begin(signedIn(caller)))
    on(totpConfirm, ({ caller, body }) => secondFactors.confirm(signedIn(caller), body.code))
    on(totpRemove, ({ caller }) => secondFactors.removeTotp(signedIn(caller)).then(() => undefined))
    on(recoveryCodesRenew, ({ caller }) => secondFactors.renewCodes(signedIn(caller)))
    on(passkeyBegin, ({ caller }) => passkeys.beginNew(signedIn(caller)))
    on(passkeyAdd, ({ caller, body }) => passkeys.add(signedIn(caller), body))
    on(passkeyRename, ({ caller, params, body }) =>
      passkeys.rename(signedIn(caller), params.id, body.name),
    )
    on(passkeyRemove, ({ caller, params }) =>
      passkeys.remove(signedIn(caller), params.id).then(() => undefined),
    )
  }

  return {
    name: 'sessions',
    routes(app) {
      signInRoutes(app)
      profileRoutes(app)
    },
    async removeOld() {
      await Promise.all([sessions.removeOld(), challenges.removeOld()])
    },
    authenticate: sessions.authenticate,
    lapsed: (callers) => open.lapsed(callers),
    lastProof: (sessionId) => open.lastProof(sessionId),
    isOpen: (tx, sessionId) => open.isOpen(tx, sessionId),
    endAll: open.endAll,
    unlock: (tx, email) => parts.throttle.unlock(tx, email),
    resetSecondFactor: (...args) => secondFactors.reset(...args),
    isOwnPassword: (caller, account, password) =>
      isOwnPassword(parts.throttle, caller, account, password),
    refused: sessions.refused,
    offered: { passkeys: passkeys.installation, provider: provider.name },
  }
}
