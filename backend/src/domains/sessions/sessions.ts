/**
 * Sign-in, refresh, sign-out. A session lasts at most 24 h from sign-in, and ends earlier if it
 * isn't used. Its refresh token is opaque and stored as a hash. With `rotate` the token is
 * replaced; if a replaced token is used after the grace period, it counts as stolen, and the
 * session ends.
 */
import { createHmac } from 'node:crypto'
import { Problem } from '#contract/errors.ts'
import type { Answer } from '#contract/operation.ts'
import type { Preferences } from '#contract/people/preferences.ts'
import type { Scope } from '#contract/permissions.ts'
import type { sessionGet } from '#contract/sessions.ts'
import { inTransaction } from '../../db/db.ts'
import type { Caller, UserCaller } from '../../http/caller.ts'
import { bucket } from '../../http/limits.ts'
import type { Authenticate } from '../../http/session.ts'
import { lacksSecondFactor, type Rights, scopesOfSession } from './open-sessions.ts'
import { type IssueFor, type SessionParts, signingIn } from './sign-in.ts'
import * as store from './store.ts'
import { hashOf } from './token-hash.ts'
import type { AccessToken } from './tokens.ts'

/**
 * Grace period in which a replaced refresh token gets its successor again, because the response may
 * have been lost, or two tabs may refresh at once.
 */
const graceMs = 10_000
/**
 * Rotations per second and session, and the size of a burst: each adds a row. An access token lasts
 * ten minutes, and the tabs of a browser refresh one after another.
 */
const rotations = { perSecond: 1 / 60, burst: 60 }

const expired = () => new Problem('session_expired', 'Session expired. Please sign in again.')

export function sessions(parts: SessionParts) {
  const { db, clock, log, config, users, tokens, throttle, rotationKey, open } = parts
  const pace = bucket({ ...rotations, clock })
  const issuer = async () => {
    const issue = await tokens.issuer()
    return (session: IssueFor) =>
      issue({
        userId: session.person_id,
        sessionId: session.id,
        email: session.email,
        scopes: scopesOfSession(config, session),
        sessionEndsAt: session.expires_at.getTime(),
      })
  }
  /** Without the scopes that the person's role no longer has. */
  const scopesIn = ({ scopes }: AccessToken, session: Rights): readonly Scope[] => {
    const held = scopesOfSession(config, session)
    return scopes.filter((scope) => held.includes(scope))
  }
  /**
   * The scopes of a token, kept until its session is read again: comparing two lists of scopes
   * takes longer than finding the session.
   */
  const granted = new WeakMap<
    AccessToken,
    { readonly session: Rights; readonly scopes: readonly Scope[] }
  >()

  return {
    ...signingIn(parts, async (session) => (await issuer())(session)),

    /**
     * @throws Problem session_expired for any invalid token; a reused token also ends its session;
     * throttled
     */
    async refresh(
      caller: Caller,
      { refresh_token, rotate = false }: { refresh_token: string; rotate?: boolean | undefined },
    ): Promise<{ access_token: string; refresh_token?: string }> {
      const hash = hashOf(refresh_token)
      const key = await rotationKey()
      const issue = await issuer()
      const outcome = await inTransaction(db, async (tx) => {
        const token = await store.lockToken(tx, hash)
        const session = token && (await store.session(tx, token.session_id))
        if (!token || !session || open.isOver(session)) return undefined
        const at = new Date(clock.now())
        if (token.used_at && at.getTime() - token.used_at.getTime() >= graceMs) {
          await open.end(tx, caller, session.id, 'refresh_reuse', {
            id: session.person_id,
            email: session.email,
          })
          return { reused: session.id } as const
        }
        await store.touch(tx, session.id, at)
        if (!rotate && !token.used_at) return { session } as const
        // The successor is derived from the token and the rotation key, so a repeated refresh
        // within the grace period gets the same successor.
        const successor = createHmac('sha256', key).update(refresh_token).digest('base64url')
        if (!token.used_at) {
          pace.demand(session.id, 'The refresh token was replaced too often. Please wait a moment.')
          await store.markUsed(tx, hash, at)
          await store.insertToken(tx, {
            hash: hashOf(successor),
            session_id: session.id,
            parent_hash: hash,
            created_at: at,
          })
        }
        return rotate ? ({ session, successor } as const) : ({ session } as const)
      })
      if (!outcome) throw expired()
      if ('reused' in outcome) {
        open.forget(outcome.reused)
        log.warn('session.refresh_reuse', {
          session_id: outcome.reused,
          ip: caller.kind === 'system' ? null : caller.ip,
        })
        throw expired()
      }
      const access_token = await issue(outcome.session)
      return 'successor' in outcome
        ? { access_token, refresh_token: outcome.successor }
        : { access_token }
    },

    /** Ends the session of a refresh token. Does nothing for an unknown token. */
    async logout(caller: Caller, refreshToken: string): Promise<void> {
      const id = await inTransaction(db, async (tx) => {
        const sessionId = await store.sessionOfToken(tx, hashOf(refreshToken))
        const session = sessionId === undefined ? undefined : await store.session(tx, sessionId)
        if (session)
          await open.end(tx, caller, session.id, 'logout', {
            id: session.person_id,
            email: session.email,
          })
        return session?.id
      })
      if (id !== undefined) open.forget(id)
    },

    authenticate: (async (text, { ip, requestId }) => {
      const token = await tokens.verify(text)
      const session = token && (await open.standing(token.sessionId))
      if (!token || !session || session.person_id !== token.userId) throw expired()
      const known = granted.get(token)
      const scopes = known?.session === session ? known.scopes : scopesIn(token, session)
      if (known?.session !== session) granted.set(token, { session, scopes })
      return {
        caller: {
          kind: 'user',
          userId: session.person_id,
          email: session.email,
          sessionId: session.id,
          provedAt: session.proved_at.getTime(),
          ...(lacksSecondFactor(config, session) && { lacksSecondFactor: true }),
          scopes,
          ip,
          requestId,
        },
        tokenEndsAt: token.endsAt,
      }
    }) satisfies Authenticate,

    /** @throws Problem session_expired */
    async current(caller: UserCaller, expiresAt: number): Promise<Answer<typeof sessionGet>> {
      const person = await users.byId(caller.userId)
      if (!person) throw expired()
      return {
        user: { id: person.id, email: person.email, name: person.name },
        role: person.role,
        scopes: [...caller.scopes],
        expiresAt: new Date(expiresAt).toISOString(),
        second_factor_missing: caller.lacksSecondFactor ?? false,
      }
    },

    preferences: (caller: UserCaller): Promise<Preferences> => store.preferences(db, caller.userId),

    async putPreferences(caller: UserCaller, value: Preferences): Promise<Preferences> {
      await store.putPreferences(db, caller.userId, value, new Date(clock.now()))
      return value
    },

    /**
     * Removes old sessions and failed sign-in attempts that no longer count; audit entries stay.
     */
    async removeOld(): Promise<void> {
      await store.removeOld(db, new Date(clock.now() - 7 * 86_400_000))
      await throttle.removeOld()
    },
  }
}
