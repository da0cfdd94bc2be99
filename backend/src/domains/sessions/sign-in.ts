/** Sign-in: checks a password when it is the source's turn, throttles after many failures, and starts a session if the password is correct. */
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { Problem } from '#contract/errors.ts'
import type { Input } from '#contract/operation.ts'
import { scopesOf } from '#contract/permissions.ts'
import { type authorize, sessionLifetimeSeconds, type User } from '#contract/sessions.ts'
import { inTransaction } from '../../db/db.ts'
import type { Caller } from '../../http/caller.ts'
import { bucket } from '../../http/limits.ts'
import type { CallContext } from '../../http/serve.ts'
import { sourceOf } from '../../network.ts'
import type { Platform } from '../../platform.ts'
import type { Users } from '../users/users.ts'
import type { Devices } from './devices.ts'
import type { OpenSessions } from './open-sessions.ts'
import { hashNow, inTurn, nobodysHash, verifyPassword } from './password.ts'
import * as store from './store.ts'
import type { Throttle } from './throttle.ts'
import type { Tokens } from './tokens.ts'
import type { Source } from './turns.ts'

export interface SessionParts extends Pick<Platform, 'db' | 'clock' | 'log' | 'record'> {
  readonly users: Users
  readonly tokens: Tokens
  readonly throttle: Throttle
  readonly devices: Devices
  /** 32 bytes from which successors of refresh tokens are derived, so that no token has to be stored in plaintext. */
  readonly rotationKey: () => Promise<Uint8Array>
  readonly open: OpenSessions
}

/** What an access token is issued for. */
export type IssueFor = { id: string; expires_at: Date; person_id: string; email: string; role: keyof typeof scopesOf }
type SignIn = Input<typeof authorize>['body'] & Pick<CallContext, 'ip' | 'userAgent' | 'cookies' | 'isEncrypted'>
type Named = { id: string; email: string } | undefined

export const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest()

export function signingIn({ db, clock, log, record, users, throttle, devices }: SessionParts, issue: (session: IssueFor) => Promise<string>) {
  const audit = (caller: Caller, person: Named, result: 'invalid_credentials' | 'throttled', more?: { since: number }) =>
    inTransaction(db, (tx) =>
      record(tx, caller, {
        action: 'session.refused',
        target: person ? { kind: 'user', id: person.id, name: person.email } : { kind: 'user', id: 'unknown' },
        result,
        ...(more && { after: { tries_not_listed: more.since } }),
      }),
    )

  // Refused attempts must not fill the audit log: some get no entry, and the next entry contains their number.
  const ofOne = bucket({ perSecond: 1 / 60, burst: 1, clock })
  const ofAll = bucket({ perSecond: 1, burst: 60, clock })
  let notListed = 0
  const auditThrottled = async (caller: Caller, person: Named, ip: string): Promise<void> => {
    if (ofOne.take(`${sourceOf(ip)} ${person?.id ?? ''}`) > 0 || ofAll.take('') > 0) {
      notListed += 1
      return
    }
    const since = notListed
    notListed = 0
    await audit(caller, person, 'throttled', { since })
  }

  /** One attempt at an account's password; must be called inside of `inTurn`. If `verdict` is missing, the throttle has refused the attempt. */
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
     * @throws Problem invalid_credentials, with the same response and timing for an unknown email and a wrong password; throttled, with the time to wait
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
        throw new Problem('invalid_credentials', 'Invalid email or password')
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
  }
}
