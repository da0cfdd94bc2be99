/**
 * Sign-in with a password, a passkey or the identity provider. A password is checked when it is the source's turn, and throttled after many failures. An
 * account with a second factor also needs a code; a passkey is both factors, and a provider vouches for its users.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import { type ErrorCode, Problem } from '#contract/errors.ts'
import type { Input } from '#contract/operation.ts'
import type { PasskeyAnswer } from '#contract/people/passkeys.ts'
import type { ProviderAnswer } from '#contract/people/sign-in.ts'
import { type Role, scopesOf } from '#contract/permissions.ts'
import { type authorize, sessionLifetimeSeconds, type SignInMethod, type User } from '#contract/sessions.ts'
import { inTransaction, type Tx } from '../../db/db.ts'
import type { Caller } from '../../http/caller.ts'
import { bucket } from '../../http/limits.ts'
import type { CallContext } from '../../http/serve.ts'
import { sourceOf } from '../../network.ts'
import type { Platform } from '../../platform.ts'
import type { Identities } from '../users/identities.ts'
import type { Users } from '../users/users.ts'
import type { Devices } from './devices.ts'
import type { OpenSessions, Rights } from './open-sessions.ts'
import { hashNow, inTurn, nobodysHash, verifyPassword } from './password.ts'
import type { Provider } from './provider/provider.ts'
import type { Passkeys } from './second-factor/passkeys.ts'
import { hasFactor, type SecondFactors, WrongCode } from './second-factor/second-factor.ts'
import * as store from './store.ts'
import type { Throttle } from './throttle.ts'
import { hashOf } from './token-hash.ts'
import type { Tokens } from './tokens.ts'
import type { Source } from './turns.ts'

export interface SessionParts extends Pick<Platform, 'db' | 'clock' | 'log' | 'record' | 'config'> {
  readonly users: Users
  readonly identities: Identities
  readonly tokens: Tokens
  readonly throttle: Throttle
  readonly devices: Devices
  readonly secondFactors: SecondFactors
  readonly passkeys: Passkeys
  readonly provider: Provider
  /** 32 bytes from which successors of refresh tokens are derived, so that no token has to be stored in plaintext. */
  readonly rotationKey: () => Promise<Uint8Array>
  readonly open: OpenSessions
}

/** What an access token is issued for. */
export type IssueFor = Rights & { id: string; expires_at: Date; person_id: string; email: string }
/** Where a sign-in comes from. */
export type From = Pick<CallContext, 'ip' | 'userAgent' | 'cookies' | 'isEncrypted'>
type Named = { id: string; email: string } | undefined
type Somebody = { id: string; email: string; name: string; role: Role; disabled_at: Date | null }
/** `deviceCookie`: the `Set-Cookie` that makes the device known. */
export interface Started {
  readonly userData: User
  readonly accessToken: string
  readonly refreshToken: string
  readonly deviceCookie: string
}

const wrongCode = 'This code is wrong, or was used already'
const unknownPasskey = 'This passkey is not known here, or its answer is not valid'
const tooManyTries = (waitMs: number) => new Problem('throttled', 'Too many tries. Please wait before you try again.', undefined, waitMs / 1000)

export function signingIn(parts: SessionParts, issue: (session: IssueFor) => Promise<string>) {
  const { db, clock, log, record, config, users, identities, throttle, devices, secondFactors, passkeys, provider } = parts
  const audit = (caller: Caller, person: Named, result: ErrorCode, more?: { since: number }) =>
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

  /** Audits a refusal and returns the Problem to throw. */
  const refused = async (caller: Caller, person: Named, ip: string, problem: Problem): Promise<Problem> => {
    log.info('session.refused', { ip, code: problem.code, request_id: caller.kind === 'anonymous' ? caller.requestId : undefined })
    await audit(caller, person, problem.code)
    return problem
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

  interface How {
    readonly method: SignInMethod
    readonly hasSecondFactor: boolean
    /** A new hash of the password, with the current parameters. */
    readonly rehashed?: string | undefined
    /** Called in the transaction of the sign-in, with the caller that it makes. */
    readonly inside?: (tx: Tx, me: Caller) => Promise<void>
  }
  const start = async (caller: Caller, person: Somebody, { ip, userAgent, cookies, isEncrypted }: From, how: How): Promise<Started> => {
    const at = new Date(clock.now())
    const session = {
      id: randomUUID(),
      person_id: person.id,
      expires_at: new Date(at.getTime() + sessionLifetimeSeconds * 1000),
      method: how.method,
      has_second_factor: how.hasSecondFactor,
    }
    const refreshToken = randomBytes(32).toString('base64url')
    // Made before the commit, because it reads keys: a sign-in that is refused must not have used up a code.
    const answer: Started = {
      userData: { id: person.id, email: person.email, name: person.name },
      accessToken: await issue({ ...session, email: person.email, role: person.role }),
      refreshToken,
      deviceCookie: await devices.remember(cookies, person.email, isEncrypted),
    }
    await inTransaction(db, async (tx) => {
      const me: Caller = {
        kind: 'user',
        userId: person.id,
        email: person.email,
        sessionId: session.id,
        scopes: scopesOf[person.role],
        ip,
        requestId: caller.kind === 'system' ? '' : caller.requestId,
      }
      await how.inside?.(tx, me)
      await store.insertSession(tx, { ...session, at, ip, user_agent: userAgent.slice(0, 300) })
      await store.insertToken(tx, { hash: hashOf(refreshToken), session_id: session.id, parent_hash: null, created_at: at })
      await users.signedIn(tx, person.id, at, how.rehashed)
      const target = { kind: 'user', id: person.id, name: person.email }
      await record(tx, me, { action: 'session.started', target, after: { session_id: session.id, method: how.method, second_factor: how.hasSecondFactor } })
    })
    return answer
  }

  const demandLocal = (): void => {
    if (config.localSignIn) return
    const name = provider.name ?? 'the identity provider'
    throw new Problem('forbidden', `Signing in with a password or a passkey is switched off here. Sign in with ${name}, or use an API token.`)
  }

  return {
    /**
     * @throws Problem invalid_credentials, with the same response and timing for an unknown email and a wrong password; second_factor_needed; throttled,
     * with the time to wait
     */
    async signIn(caller: Caller, { email, password, code, ...from }: Input<typeof authorize>['body'] & From): Promise<Started> {
      demandLocal()
      const { ip, cookies } = from
      const device = await devices.known(cookies, email)
      const who: Source = device === undefined ? { source: sourceOf(ip) } : { source: `device ${device}`, isKnown: true }
      const { person, waitMs, verdict, rehashed } = await inTurn(who, () => tryPassword(email, password, who.source))
      if (!verdict) {
        await auditThrottled(caller, person, ip)
        throw tooManyTries(waitMs)
      }
      if (!person || !verdict.right || person.disabled_at)
        throw await refused(caller, person, ip, new Problem('invalid_credentials', 'Invalid email or password'))
      await throttle.succeed(email, who.source)
      const factors = await secondFactors.of(person.id)
      if (!hasFactor(factors)) return start(caller, person, from, { method: 'password', hasSecondFactor: false, rehashed })
      if (code === undefined) {
        const ways = factors.totp_since ? 'Enter the code of your authenticator app' : 'Sign in with your passkey'
        throw new Problem('second_factor_needed', `${ways}, or enter a recovery code.`)
      }
      // Guesses of codes slow down the account, whatever their source: only somebody who knows the password gets here, so no stranger can lock the user out.
      const guesser = device === undefined ? `second factor of ${person.id}` : `second factor on device ${device}`
      const tried = await throttle.begin(email, guesser)
      if (tried.attempt === undefined) {
        await auditThrottled(caller, person, ip)
        throw tooManyTries(tried.waitMs)
      }
      try {
        const inside = async (tx: Tx, me: Caller) => {
          await secondFactors.spend(tx, me, person, code)
          await throttle.succeed(email, guesser, tx)
        }
        return await start(caller, person, from, { method: 'password', hasSecondFactor: true, rehashed, inside })
      } catch (error) {
        if (error instanceof WrongCode) throw await refused(caller, person, ip, new Problem('invalid_credentials', wrongCode, { code: wrongCode }))
        await throttle.forget(tried.attempt)
        throw error
      }
    },

    /** @throws Problem invalid_credentials, challenge_over, conflict */
    async signInWithPasskey(caller: Caller, answer: PasskeyAnswer, from: From): Promise<Started> {
      demandLocal()
      const personId = await passkeys.check(answer)
      const person = personId === undefined ? undefined : await users.byId(personId)
      if (!person || person.disabled_at) throw await refused(caller, person, from.ip, new Problem('invalid_credentials', unknownPasskey))
      return start(caller, person, from, { method: 'passkey', hasSecondFactor: true })
    },

    /** @throws Problem forbidden, conflict */
    async beginPasskey() {
      demandLocal()
      return passkeys.beginSignIn()
    },

    /** @throws Problem challenge_over, provider_refused, provider_unreachable */
    async signInWithProvider(caller: Caller, answer: ProviderAnswer, from: From): Promise<Started & { return_to: string | null }> {
      try {
        const { identity, returnTo } = await provider.finish(answer, from.cookies)
        const person = await identities.resolve(caller, identity)
        return { ...(await start(caller, person, from, { method: 'provider', hasSecondFactor: true })), return_to: returnTo }
      } catch (error) {
        // Anybody can send answers to sign-ins that nobody began, and must not fill the audit log with them.
        if (!(error instanceof Problem) || error.code === 'challenge_over') throw error
        throw await refused(caller, undefined, from.ip, error)
      }
    },
  }
}
