/**
 * Sign-in, refresh, sign-out. A session lasts at most 24 h from sign-in, and ends earlier where it isn't used. Its refresh token is opaque and kept as a
 * hash. With `rotate` it is replaced; a spent token that is used after the grace period counts as stolen, and the session ends.
 */
import { createHash, createHmac, randomBytes, randomUUID } from 'node:crypto'
import { Problem } from '#contract/errors.ts'
import { scopesOf } from '#contract/permissions.ts'
import type { Input } from '#contract/operation.ts'
import { type authorize, type Preferences, sessionLifetimeSeconds, type User } from '#contract/sessions.ts'
import { inTransaction } from '../../db/db.ts'
import type { Caller, UserCaller } from '../../http/caller.ts'
import { bucket } from '../../http/limits.ts'
import type { CallContext } from '../../http/serve.ts'
import type { Authenticate } from '../../http/session.ts'
import { sourceOf } from '../../network.ts'
import type { Platform } from '../../platform.ts'
import type { Users } from '../users/users.ts'
import type { Devices } from './devices.ts'
import { hashNow, inTurn, nobodysHash, verifyPassword } from './password.ts'
import type { OpenSessions } from './open-sessions.ts'
import * as store from './store.ts'
import type { Throttle } from './throttle.ts'
import type { Tokens } from './tokens.ts'
import type { Source } from './turns.ts'

/** For this long a spent refresh token gets its successor again: the answer may have been lost, or two tabs asked at once. */
const graceMs = 10_000

export interface SessionParts {
  readonly users: Users
  readonly tokens: Tokens
  readonly throttle: Throttle
  readonly devices: Devices
  /** 32 bytes; makes successors of refresh tokens, so that none has to be kept in the clear. */
  readonly rotationKey: () => Promise<Uint8Array>
  readonly open: OpenSessions
}

type SignIn = Input<typeof authorize>['body'] & Pick<CallContext, 'ip' | 'userAgent' | 'cookies' | 'isEncrypted'>

export type Sessions = ReturnType<typeof sessions>

const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest()
const expired = () => new Problem('session_expired', 'Session expired. Please sign in again.')
const refused = () => new Problem('invalid_credentials', 'Invalid email or password')

export function sessions(parts: Pick<Platform, 'db' | 'clock' | 'log' | 'record'> & SessionParts) {
  const { db, clock, log, record, users, tokens, throttle, devices, rotationKey, open } = parts
  const issue = (session: { id: string; expires_at: Date; person_id: string; email: string; role: keyof typeof scopesOf }) =>
    tokens.issue({
      userId: session.person_id,
      sessionId: session.id,
      email: session.email,
      scopes: scopesOf[session.role],
      sessionEndsAt: session.expires_at.getTime(),
    })

  const audit = (caller: Caller, person: { id: string; email: string } | undefined, result: 'invalid_credentials' | 'throttled', more?: { since: number }) =>
    inTransaction(db, (tx) =>
      record(tx, caller, {
        action: 'session.refused',
        target: person ? { kind: 'user', id: person.id, name: person.email } : { kind: 'user', id: 'unknown' },
        result,
        ...(more && { after: { tries_not_listed: more.since } }),
      }),
    )

  // Refused tries must not fill the audit log: some are left out, and the next entry says how many.
  const ofOne = bucket({ perSecond: 1 / 60, burst: 1, clock })
  const ofAll = bucket({ perSecond: 1, burst: 60, clock })
  let notListed = 0
  const auditThrottled = async (caller: Caller, person: { id: string; email: string } | undefined, ip: string): Promise<void> => {
    if (ofOne.take(`${sourceOf(ip)} ${person?.id ?? ''}`) > 0 || ofAll.take('') > 0) {
      notListed += 1
      return
    }
    const since = notListed
    notListed = 0
    await audit(caller, person, 'throttled', { since })
  }

  /** One try at an account's password; call it inside `inTurn`. Without `verdict` the throttle refused it. */
  const tryPassword = async (email: string, password: string, source: string) => {
    const person = await users.forSignIn(email)
    const { waitMs, attempt } = await throttle.begin(email, source)
    if (attempt === undefined) return { person, waitMs, verdict: undefined, rehashed: undefined }
    try {
      const verdict = await verifyPassword(password, person?.password_hash ?? nobodysHash)
      return { person, waitMs, verdict, rehashed: verdict.outdated ? await hashNow(password) : undefined }
    } catch (error) {
      await throttle.forget(attempt)
      throw error
    }
  }

  return {
    /**
     * `deviceCookie` is the `Set-Cookie` that makes the device known.
     * @throws Problem invalid_credentials, the same for an unknown email and a wrong password, in the same time; throttled with when to come back
     */
    async signIn(
      caller: Caller,
      { email, password, ip, userAgent, cookies, isEncrypted }: SignIn,
    ): Promise<{ userData: User; accessToken: string; refreshToken: string; deviceCookie: string }> {
      const device = await devices.known(cookies, email)
      const from: Source = device === undefined ? { source: sourceOf(ip) } : { source: `device ${device}`, isKnown: true }
      const { person, waitMs, verdict, rehashed } = await inTurn(from, () => tryPassword(email, password, from.source))
      if (!verdict) {
        await auditThrottled(caller, person, ip)
        throw new Problem('throttled', 'Too many tries. Please wait before you try again.', undefined, waitMs / 1000)
      }
      if (!person || !verdict.right || person.disabled_at) {
        log.info('session.refused', { ip, request_id: caller.kind === 'anonymous' ? caller.requestId : undefined })
        await audit(caller, person, 'invalid_credentials')
        throw refused()
      }
      await throttle.succeed(email, from.source)
      const at = new Date(clock.now())
      const session = { id: randomUUID(), person_id: person.id, expires_at: new Date(at.getTime() + sessionLifetimeSeconds * 1000) }
      const refreshToken = randomBytes(32).toString('base64url')
      await inTransaction(db, async (tx) => {
        await store.insertSession(tx, { ...session, at, ip, user_agent: userAgent.slice(0, 300) })
        await store.insertToken(tx, { hash: hashOf(refreshToken), session_id: session.id, parent_hash: null, created_at: at })
        await users.signedIn(tx, person.id, at, rehashed)
        const me: Caller = {
          kind: 'user',
          userId: person.id,
          email: person.email,
          sessionId: session.id,
          scopes: scopesOf[person.role],
          ip,
          requestId: caller.kind === 'system' ? '' : caller.requestId,
        }
        await record(tx, me, { action: 'session.started', target: { kind: 'user', id: person.id, name: person.email }, after: { session_id: session.id } })
      })
      const accessToken = await issue({ ...session, email: person.email, role: person.role })
      return {
        userData: { id: person.id, email: person.email, name: person.name },
        accessToken,
        refreshToken,
        deviceCookie: await devices.remember(cookies, email, isEncrypted),
      }
    },

    /** @throws Problem session_expired for any token that isn't good; a reused one also ends its session */
    async refresh(
      caller: Caller,
      { refresh_token, rotate = false }: { refresh_token: string; rotate?: boolean | undefined },
    ): Promise<{ access_token: string; refresh_token?: string }> {
      const hash = hashOf(refresh_token)
      const key = await rotationKey()
      const outcome = await inTransaction(db, async (tx) => {
        const token = await store.lockToken(tx, hash)
        const session = token && (await store.session(tx, token.session_id))
        if (!token || !session || open.isOver(session)) return undefined
        const at = new Date(clock.now())
        if (token.used_at && at.getTime() - token.used_at.getTime() >= graceMs) {
          await open.end(tx, caller, session.id, 'refresh_reuse', { id: session.person_id, email: session.email })
          return { reused: session.id } as const
        }
        await store.touch(tx, session.id, at)
        if (!rotate && !token.used_at) return { session } as const
        // The successor is derived from the token and our key, so a repetition within the grace period gets the same one.
        const successor = createHmac('sha256', key).update(refresh_token).digest('base64url')
        if (!token.used_at) {
          await store.markUsed(tx, hash, at)
          await store.insertToken(tx, { hash: hashOf(successor), session_id: session.id, parent_hash: hash, created_at: at })
        }
        return rotate ? ({ session, successor } as const) : ({ session } as const)
      })
      if (!outcome) throw expired()
      if ('reused' in outcome) {
        open.forget(outcome.reused)
        log.warn('session.refresh_reuse', { session_id: outcome.reused, ip: caller.kind === 'system' ? null : caller.ip })
        throw expired()
      }
      const access_token = await issue(outcome.session)
      return 'successor' in outcome ? { access_token, refresh_token: outcome.successor } : { access_token }
    },

    /** Ends the session of a refresh token; of an unknown one nothing, in silence. */
    async logout(caller: Caller, refreshToken: string): Promise<void> {
      const id = await inTransaction(db, async (tx) => {
        const sessionId = await store.sessionOfToken(tx, hashOf(refreshToken))
        const session = sessionId === undefined ? undefined : await store.session(tx, sessionId)
        if (session) await open.end(tx, caller, session.id, 'logout', { id: session.person_id, email: session.email })
        return session?.id
      })
      if (id !== undefined) open.forget(id)
    },

    authenticate: (async (text, { ip, requestId }) => {
      const token = await tokens.verify(text)
      const session = token && (await open.standing(token.sessionId))
      if (!token || !session || session.person_id !== token.userId) throw expired()
      // The token's scopes, and of those only what the role holds today.
      const held = scopesOf[session.role]
      const scopes = token.scopes.filter((s) => held.includes(s))
      return {
        caller: { kind: 'user', userId: session.person_id, email: session.email, sessionId: session.id, scopes, ip, requestId },
        tokenEndsAt: token.endsAt,
      }
    }) satisfies Authenticate,

    async current(caller: UserCaller, expiresAt: number): Promise<{ user: User; scopes: UserCaller['scopes'][number][]; expiresAt: string }> {
      const session = await open.standing(caller.sessionId)
      if (!session) throw expired()
      return {
        user: { id: session.person_id, email: session.email, name: session.name },
        scopes: [...caller.scopes],
        expiresAt: new Date(expiresAt).toISOString(),
      }
    },

    preferences: (caller: UserCaller): Promise<Preferences> => store.preferences(db, caller.userId),

    async putPreferences(caller: UserCaller, value: Preferences): Promise<Preferences> {
      await store.putPreferences(db, caller.userId, value, new Date(clock.now()))
      return value
    },

    /** Removes sessions and failed tries that are of no more use; audit entries stay. */
    async removeOld(): Promise<void> {
      await store.removeOld(db, new Date(clock.now() - 7 * 86_400_000))
      await throttle.removeOld()
    },
  }
}
