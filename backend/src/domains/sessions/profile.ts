/** The caller's own account: what it is, its second factors, and the renewed proof of identity. */
import { type ErrorCode, Problem } from '#contract/errors.ts'
import type { Answer, Input } from '#contract/operation.ts'
import { type profileGet, proofMinutes, type sessionProve } from '#contract/people/profile.ts'
import type { User } from '#contract/sessions.ts'
import { inTransaction } from '../../db/db.ts'
import type { UserCaller } from '../../http/caller.ts'
import type { Platform } from '../../platform.ts'
import { repeated } from '../audit/api.ts'
import type { Users } from '../users/api.ts'
import type { OpenSessions } from './open-sessions.ts'
import { isOwnPassword } from './own-password.ts'
import type { Provider } from './provider/provider.ts'
import type { Passkeys } from './second-factor/passkeys.ts'
import type { SecondFactors } from './second-factor/second-factor.ts'
import type { Throttle } from './throttle.ts'

interface ProfileParts extends Pick<Platform, 'db' | 'record' | 'config' | 'clock' | 'log'> {
  readonly users: Users
  readonly open: OpenSessions
  readonly throttle: Throttle
  readonly secondFactors: SecondFactors
  readonly passkeys: Passkeys
  readonly provider: Provider
}

/** What refuses a proof that was not the user's. */
const refusals: ReadonlySet<string> = new Set(['invalid', 'provider_refused'])

/** A user who guesses without end must not fill the audit log. */
const refusedProofs = { windowMs: 10 * 60_000, burst: 500, perHour: 600 } as const
interface RefusedProof {
  readonly caller: UserCaller
  readonly method: string
  readonly result: ErrorCode
}

/** How many colleagues are named who can change the caller's role. */
const mostAdministrators = 10

export function profile({
  db,
  record,
  config,
  clock,
  log,
  users,
  open,
  throttle,
  secondFactors,
  passkeys,
  provider,
}: ProfileParts) {
  const refused = repeated<RefusedProof>(
    {
      db,
      clock,
      log,
      async write(tx, batch) {
        for (const { item, several } of batch) {
          const { caller, method, result } = item
          const target = { kind: 'user', id: caller.userId, name: caller.email } as const
          await record(tx, caller, {
            action: 'session.proof_refused',
            target,
            after: { method, ...several },
            result,
          })
        }
      },
      merged: (item) => item,
      groupOf: ({ caller }) => caller.userId,
    },
    refusedProofs,
  )
  const until = (at: Date): string => new Date(at.getTime() + proofMinutes * 60_000).toISOString()
  const expired = () => new Problem('session_expired', 'Session expired. Please sign in again.')
  const own = async ({ userId }: UserCaller) => {
    const person = await users.byId(userId)
    if (!person) throw expired()
    return person
  }

  /**
   * Returns the path of the console that was given at the beginning of a proof at the provider.
   * @throws Problem as `prove`
   */
  const check = async (
    caller: UserCaller,
    { password, passkey, provider: answer }: Input<typeof sessionProve>['body'],
  ): Promise<string | null> => {
    const refuse = (field: 'password' | 'passkey', reason: string) =>
      new Problem('invalid', reason, { [field]: reason })
    if (answer) {
      const { identity, returnTo } = await provider.finishProof(caller, answer)
      if (!(await users.isIdentityOf(identity, caller.userId)))
        throw new Problem('provider_refused', `You signed in at ${provider.name} as somebody else.`)
      return returnTo
    }
    if (!config.localSignIn)
      throw new Problem(
        'conflict',
        `Passwords and passkeys are switched off here. Confirm with ${provider.name}.`,
      )
    if (passkey) {
      if ((await passkeys.check(passkey, caller))?.personId !== caller.userId)
        throw refuse('passkey', 'This passkey is not one of yours, or its answer is not valid')
    } else if (!(await isOwnPassword(throttle, caller, await own(caller), password!)))
      throw refuse('password', 'This is not your password')
    return null
  }

  return {
    /** Records the refusals that were only counted until now. */
    close: () => refused.close(),

    async get(caller: UserCaller): Promise<Answer<typeof profileGet>> {
      const person = await own(caller)
      const session = await open.standing(caller.sessionId)
      if (!session) throw expired()
      const factors = await secondFactors.of(person.id)
      return {
        user: { id: person.id, email: person.email, name: person.name },
        role: person.role,
        created_at: person.created_at.toISOString(),
        has_password: person.password_hash !== null,
        has_provider: await users.hasProvider(person.id),
        method: session.method,
        proof_until: until(session.proved_at),
        second_factor_required: config.secondFactorRoles.includes(person.role),
        totp_since: factors.totp_since?.toISOString() ?? null,
        passkeys: await passkeys.of(person.id),
        recovery_codes: factors.recovery_codes,
        administrators: await users.administrators(mostAdministrators),
      }
    },

    async rename(caller: UserCaller, name: string): Promise<User> {
      const { id, email } = await own(caller)
      await users.rename(caller, id, name)
      return { id, email, name }
    },

    /**
     * Accepts a proof of the caller's identity, which holds for `proofMinutes`.
     * @throws Problem invalid, throttled, conflict, challenge_over, provider_refused,
     * provider_unreachable
     */
    async prove(
      caller: UserCaller,
      proof: Input<typeof sessionProve>['body'],
    ): Promise<Answer<typeof sessionProve>> {
      const target = { kind: 'user', id: caller.userId, name: caller.email } as const
      const after = {
        method: proof.password !== undefined ? 'password' : proof.passkey ? 'passkey' : 'provider',
      }
      let return_to: string | null
      try {
        return_to = await check(caller, proof)
      } catch (error) {
        if (error instanceof Problem && refusals.has(error.code))
          await refused.note(
            caller.sessionId,
            { caller, method: after.method, result: error.code },
            { ip: caller.ip, listed: 10 },
          )
        throw error
      }
      const at = await inTransaction(db, async (tx) => {
        await record(tx, caller, { action: 'session.proved', target, after })
        return open.proved(tx, caller)
      })
      return { proof_until: until(at), return_to }
    },
  }
}
