/**
 * Sign-in with a password, a passkey or the identity provider. A password is checked when it is the
 * source's turn, and throttled after many failures. An account with a second factor also needs a
 * code; a passkey is both factors, and a provider vouches for its users.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import { Problem } from '#contract/errors.ts'
import type { Input } from '#contract/operation.ts'
import type { PasskeyAnswer } from '#contract/people/passkeys.ts'
import type { ProviderAnswer } from '#contract/people/sign-in.ts'
import { scopesOf } from '#contract/permissions.ts'
import {
  type authorize,
  sessionLifetimeSeconds,
  type SignInMethod,
  type User,
} from '#contract/sessions.ts'
import { inTransaction, type Tx } from '../../db/db.ts'
import type { Caller } from '../../http/caller.ts'
import type { CallContext } from '../../http/serve.ts'
import { sourceOf } from '../../network.ts'
import type { Platform } from '../../platform.ts'
import type { Access, Account, Users } from '../users/api.ts'
import type { Devices } from './devices.ts'
import type { OpenSessions, Rights } from './open-sessions.ts'
import type { Provider } from './provider/provider.ts'
import type { Passkeys } from './second-factor/passkeys.ts'
import { type Refused, refusedSignIns } from './refused.ts'
import { hasFactor, type SecondFactors, WrongCode } from './second-factor/second-factor.ts'
import * as store from './store.ts'
import type { Throttle } from './throttle.ts'
import { hashOf } from './token-hash.ts'
import type { Tokens } from './tokens.ts'
import { passwordTries } from './tries.ts'

export interface SessionParts extends Pick<Platform, 'db' | 'clock' | 'log' | 'record' | 'config'> {
  readonly users: Users
  /** What a sign-in ends if the provider takes a user's rights away. */
  readonly invitations: Access['invitations']
  readonly apiTokens: Access['apiTokens']
  readonly tokens: Tokens
  readonly throttle: Throttle
  readonly devices: Devices
  readonly secondFactors: SecondFactors
  readonly passkeys: Passkeys
  readonly provider: Provider
  /**
   * 32 bytes from which successors of refresh tokens are derived, so that no token has to be stored
   * in plaintext.
   */
  readonly rotationKey: () => Promise<Uint8Array>
  readonly open: OpenSessions
}

/** What an access token is issued for. */
export type IssueFor = Rights & { id: string; expires_at: Date; person_id: string; email: string }
/** Where a sign-in comes from. */
export type From = Pick<CallContext, 'ip' | 'userAgent' | 'cookies' | 'isEncrypted'>
/** `deviceCookie`: the `Set-Cookie` that makes the device known. */
export interface Started {
  readonly userData: User
  readonly accessToken: string
  readonly refreshToken: string
  readonly deviceCookie: string
}

/**
 * Thrown inside of a sign-in's transaction, which is then rolled back: the user was disabled or
 * removed, the password changed or the passkey removed, after it was checked.
 */
class AccountChanged extends Error {
  override readonly name = 'AccountChanged'
}

const wrongCode = 'This code is wrong, or was used already'
const unknownPasskey = 'This passkey is not known here, or its answer is not valid'
const tooManyTries = (waitMs: number) =>
  new Problem(
    'throttled',
    'Too many tries. Please wait before you try again.',
    undefined,
    waitMs / 1000,
  )

export function signingIn(parts: SessionParts, issue: (session: IssueFor) => Promise<string>) {
  const {
    db,
    clock,
    log,
    record,
    config,
    users,
    throttle,
    devices,
    secondFactors,
    passkeys,
    provider,
    open,
    invitations,
    apiTokens,
  } = parts
  const tries = passwordTries(parts)
  const refusals = refusedSignIns(parts)

  /** Audits a refusal and returns the Problem to throw. */
  const refused = async (
    caller: Caller,
    problem: Problem,
    about: Omit<Refused, 'caller' | 'result'>,
  ): Promise<Problem> => {
    const { code } = problem
    if (code !== 'throttled')
      log.info('session.refused', {
        ip: about.ip,
        code,
        request_id: caller.kind === 'anonymous' ? caller.requestId : undefined,
      })
    await refusals.note({ caller, result: code, ...about })
    return problem
  }

  interface How {
    readonly method: SignInMethod
    readonly hasSecondFactor: boolean
    /** A new hash of the password, with the current parameters. */
    readonly rehashed?: string | undefined
    /** Called in the transaction of the sign-in, with the caller that it makes. */
    readonly inside?: (tx: Tx, me: Caller) => Promise<void>
  }
  /** @throws AccountChanged */
  const start = async (caller: Caller, person: Account, from: From, how: How): Promise<Started> => {
    const { ip, userAgent } = from
    const at = new Date(clock.now())
    const session = {
      id: randomUUID(),
      person_id: person.id,
      expires_at: new Date(at.getTime() + sessionLifetimeSeconds * 1000),
      method: how.method,
      has_second_factor: how.hasSecondFactor,
    }
    const refreshToken = randomBytes(32).toString('base64url')
    // Made before the commit, because it reads keys: a sign-in that is refused must not have used
    // up a code.
    const answer: Started = {
      userData: { id: person.id, email: person.email, name: person.name },
      accessToken: await issue({ ...session, email: person.email, role: person.role }),
      refreshToken,
      deviceCookie: await devices.remember(from, person.email),
    }
    await inTransaction(db, async (tx) => {
      // Locked first: a change of the account ends the sessions that it finds, so none may begin
      // with what was valid before it.
      const now = await users.lock(tx, person.id)
      const isPasswordOld = how.method === 'password' && now?.password_hash !== person.password_hash
      if (!now || now.disabled_at !== null || isPasswordOld)
        throw new AccountChanged('The account was changed meanwhile')
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
      await store.insertToken(tx, {
        hash: hashOf(refreshToken),
        session_id: session.id,
        parent_hash: null,
        created_at: at,
      })
      await users.signedIn(tx, person.id, at, how.rehashed)
      const target = { kind: 'user', id: person.id, name: person.email }
      await record(tx, me, {
        action: 'session.started',
        target,
        after: { session_id: session.id, method: how.method, second_factor: how.hasSecondFactor },
      })
    })
    return answer
  }

  const demandLocal = (): void => {
    if (config.localSignIn) return
    const name = provider.name ?? 'the identity provider'
    throw new Problem(
      'forbidden',
      `Signing in with a password or a passkey is switched off here. Sign in with ${name}, or use an API token.`,
    )
  }

  /** @throws AccountChanged; Problem as `signIn` */
  const withPassword = async (
    caller: Caller,
    { email, password, code }: Input<typeof authorize>['body'],
    from: From,
    signal: AbortSignal,
  ): Promise<Started> => {
    demandLocal()
    const { ip } = from
    const device = await devices.known(from, email)
    const source = device === undefined ? sourceOf(ip) : `device ${device}`
    const { person, waitMs, verdict, rehashed, hold } = await tries.take({
      email,
      password,
      source,
      isKnown: device !== undefined,
      signal,
    })
    const refuse = async (problem: Problem): Promise<Problem> => {
      await refused(caller, problem, { person, ip, device })
      await hold()
      return problem
    }
    if (!verdict) throw await refuse(tooManyTries(waitMs))
    if (!person || !verdict.right || person.disabled_at)
      throw await refuse(new Problem('invalid_credentials', 'Invalid email or password'))
    await throttle.succeed(email, source)
    await tries.holdRight(person.id, hold)
    const factors = await secondFactors.of(person.id)
    if (!hasFactor(factors))
      return start(caller, person, from, { method: 'password', hasSecondFactor: false, rehashed })
    if (code === undefined) {
      const ways = factors.totp_since
        ? 'Enter the code of your authenticator app'
        : 'Sign in with your passkey'
      throw new Problem('second_factor_needed', `${ways}, or enter a recovery code.`)
    }
    // Guesses of codes slow down the account, whatever their source: only somebody who knows the
    // password gets here, so no stranger can lock the user out.
    const guesser =
      device === undefined ? `second factor of ${person.id}` : `second factor on device ${device}`
    const tried = await throttle.begin(email, guesser)
    if (tried.attempt === undefined) throw await refuse(tooManyTries(tried.waitMs))
    try {
      const inside = async (tx: Tx, me: Caller) => {
        await secondFactors.spend(tx, me, person, code)
        await throttle.succeed(email, guesser, tx)
      }
      return await start(caller, person, from, {
        method: 'password',
        hasSecondFactor: true,
        rehashed,
        inside,
      })
    } catch (error) {
      if (error instanceof WrongCode)
        throw await refuse(new Problem('invalid_credentials', wrongCode, { code: wrongCode }))
      await throttle.forget(tried.attempt)
      throw error
    }
  }

  return {
    refused,
    /** Answers all refusals that are held back, because the program stops. */
    release: () => tries.release(),
    /** Records the refusals that were only counted until now. */
    close: refusals.close,

    /**
     * @param signal ends the wait for a turn, because the client has disconnected
     * @throws Problem invalid_credentials, with the same response and timing for an unknown email
     * and a wrong password; second_factor_needed; throttled, with the time to wait
     */
    async signIn(...asked: Parameters<typeof withPassword>): Promise<Started> {
      for (;;)
        try {
          return await withPassword(...asked)
        } catch (error) {
          // Checked again by what holds now: the password may be right still, if another sign-in
          // has only hashed it anew.
          if (!(error instanceof AccountChanged)) throw error
        }
    },

    /** @throws Problem invalid_credentials, challenge_over, conflict */
    async signInWithPasskey(caller: Caller, answer: PasskeyAnswer, from: From): Promise<Started> {
      demandLocal()
      const passkey = await passkeys.check(answer)
      const person = passkey && (await users.byId(passkey.personId))
      const refuse = () =>
        refused(caller, new Problem('invalid_credentials', unknownPasskey), { person, ip: from.ip })
      if (!person || person.disabled_at) throw await refuse()
      try {
        return await start(caller, person, from, {
          method: 'passkey',
          hasSecondFactor: true,
          async inside(tx) {
            if (!(await passkeys.isKept(tx, passkey.id)))
              throw new AccountChanged('The passkey was removed meanwhile')
          },
        })
      } catch (error) {
        throw error instanceof AccountChanged ? await refuse() : error
      }
    },

    /** @throws Problem forbidden, conflict */
    async beginPasskey() {
      demandLocal()
      return passkeys.beginSignIn()
    },

    /** @throws Problem challenge_over, provider_refused, provider_unreachable */
    async signInWithProvider(
      caller: Caller,
      answer: ProviderAnswer,
      from: From,
    ): Promise<Started & { return_to: string | null }> {
      try {
        const { identity, returnTo } = await provider.finish(answer, from)
        const person = await users.ofIdentity(caller, identity, {
          sessions: open,
          apiTokens,
          invitations,
        })
        return {
          ...(await start(caller, person, from, { method: 'provider', hasSecondFactor: true })),
          return_to: returnTo,
        }
      } catch (given) {
        const error =
          given instanceof AccountChanged
            ? new Problem('provider_refused', 'Your account here was disabled or removed.')
            : given
        // Anybody can send answers to sign-ins that nobody began, and must not fill the audit log
        // with them.
        if (!(error instanceof Problem) || error.code === 'challenge_over') throw error
        throw await refused(caller, error, { person: undefined, ip: from.ip })
      }
    },
  }
}
