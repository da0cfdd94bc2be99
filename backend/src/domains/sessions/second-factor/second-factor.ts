/**
 * The second factor of an account: setting up and removing authenticator apps, recovery codes, and
 * the check of a code at sign-in.
 */
import { createHmac, hkdfSync, randomBytes, randomInt } from 'node:crypto'
import { Problem } from '#contract/errors.ts'
import type { Answer } from '#contract/operation.ts'
import {
  recoveryCodes as numberOfCodes,
  type totpBegin,
  type totpConfirm,
  totpSetupMinutes,
} from '#contract/people/second-factor.ts'
import type { Role } from '#contract/permissions.ts'
import { inTransaction, type Tx } from '../../../db/db.ts'
import type { Caller, UserCaller } from '../../../http/caller.ts'
import type { Platform } from '../../../platform.ts'
import type { OpenSessions } from '../open-sessions.ts'
import * as store from './store.ts'
import { secretBytes, stepOf, uriOf } from './totp.ts'

export type SecondFactors = ReturnType<typeof secondFactors>
type Factors = store.Factors

/** Thrown inside of a sign-in's transaction, which is then rolled back. */
export class WrongCode extends Error {
  override readonly name = 'WrongCode'
}

/**
 * Without characters that look alike. 24 of them have 118 bits; with 112 or more, a hash without
 * stretching protects them (OWASP ASVS 5.0, 6.5.2).
 */
const alphabet = '23456789abcdefghjkmnpqrstuvwxyz'
const recoveryLength = 24
const newRecoveryCode = (): string =>
  Array.from({ length: recoveryLength }, () => alphabet[randomInt(alphabet.length)]!).join('')
const shown = (code: string): string => code.match(/.{4}/g)!.join('-')

/** What is added or removed, for the audit log. */
type Factor = 'totp' | 'passkey'

export const hasFactor = ({ totp_since, passkeys }: Factors): boolean =>
  totp_since !== null || passkeys > 0

interface SecondFactorParts extends Pick<Platform, 'db' | 'clock' | 'record' | 'vault' | 'config'> {
  readonly open: OpenSessions
  /** 32 secret bytes of this installation. */
  readonly installationKey: () => Promise<Uint8Array>
}

export function secondFactors({
  db,
  clock,
  record,
  vault,
  config,
  open,
  installationKey,
}: SecondFactorParts) {
  const place = (personId: string) => ({
    table: 'totp',
    column: `secret|${personId}`,
    owner: 'installation',
  })
  const now = () => new Date(clock.now())
  const issuer = `Steelyard ${new URL(config.publicUrl).hostname}`

  // A keyed hash: with the database alone, nobody can try codes.
  const key = async () =>
    new Uint8Array(
      hkdfSync('sha256', await installationKey(), new Uint8Array(), 'recovery codes', 32),
    )
  const hashOf = async (personId: string, code: string): Promise<Buffer> =>
    createHmac('sha256', await key())
      .update(JSON.stringify([personId, code]))
      .digest()

  type Action =
    | 'second_factor_added'
    | 'second_factor_removed'
    | 'second_factor_reset'
    | 'recovery_codes_renewed'
    | 'recovery_code_used'
  const recordOf = (
    tx: Tx,
    caller: Caller,
    person: { id: string; email: string },
    action: Action,
    after?: object,
  ) =>
    record(tx, caller, {
      action: `user.${action}`,
      target: { kind: 'user', id: person.id, name: person.email },
      event: { name: 'user.updated' },
      ...(after && { after }),
    })

  const newCodes = async (tx: Tx, personId: string): Promise<string[]> => {
    const codes = Array.from({ length: numberOfCodes }, newRecoveryCode)
    await store.putRecoveryCodes(
      tx,
      personId,
      await Promise.all(codes.map((code) => hashOf(personId, code))),
    )
    return codes.map(shown)
  }

  /**
   * Called in the transaction that added a factor. Returns new recovery codes if the account had
   * none.
   */
  const added = async (
    tx: Tx,
    caller: UserCaller,
    factor: Factor,
    name?: string,
  ): Promise<string[] | null> => {
    const { recovery_codes } = await store.factors(tx, caller.userId)
    await open.secondFactorAdded(tx, caller)
    await recordOf(tx, caller, { id: caller.userId, email: caller.email }, 'second_factor_added', {
      factor,
      ...(name !== undefined && { name }),
    })
    return recovery_codes > 0 ? null : newCodes(tx, caller.userId)
  }

  /**
   * Called in the transaction that removed a factor. @throws Problem conflict if it was the last
   * one and the role requires one
   */
  const removed = async (tx: Tx, caller: UserCaller, role: Role, factor: Factor): Promise<void> => {
    if (!hasFactor(await store.factors(tx, caller.userId))) {
      if (config.secondFactorRoles.includes(role))
        throw new Problem('conflict', 'Your role requires a second factor: add another one first')
      await store.removeRecoveryCodes(tx, caller.userId)
      await open.secondFactorGone(tx, caller.userId)
    }
    await recordOf(
      tx,
      caller,
      { id: caller.userId, email: caller.email },
      'second_factor_removed',
      { factor },
    )
  }

  /**
   * The time step of a code of an app; undefined if the app doesn't show the code at about this
   * time.
   */
  const stepIn = async (
    tx: Tx,
    personId: string,
    sealed: Uint8Array,
    code: string,
  ): Promise<number | undefined> => {
    const secret = await vault.open(tx, { ...place(personId), sealed })
    try {
      return stepOf(secret, code, clock.now())
    } finally {
      secret.fill(0)
    }
  }

  return {
    of: (personId: string): Promise<Factors> => store.factors(db, personId),
    added,
    removed,

    /**
     * Uses up a code of the app, or a recovery code, in the transaction of a sign-in.
     * @throws WrongCode for any other text, and for a code that was used before
     */
    async spend(
      tx: Tx,
      caller: Caller,
      person: { id: string; email: string },
      code: string,
    ): Promise<void> {
      const totp = await store.totp(tx, person.id)
      const step = totp?.secret_sealed
        ? await stepIn(tx, person.id, totp.secret_sealed, code)
        : undefined
      if (step !== undefined) {
        if (!(await store.spendStep(tx, person.id, step)))
          throw new WrongCode('The code was used before')
        return
      }
      if (!(await store.spendRecoveryCode(tx, person.id, await hashOf(person.id, code))))
        throw new WrongCode('There is no such code')
      const { recovery_codes: left } = await store.factors(tx, person.id)
      await recordOf(tx, caller, person, 'recovery_code_used', { left })
    },

    /** Makes a secret for an app. It does not count before `confirm`. */
    async begin(caller: UserCaller): Promise<Answer<typeof totpBegin>> {
      const secret = randomBytes(secretBytes)
      const pending_until = new Date(clock.now() + totpSetupMinutes * 60_000)
      await inTransaction(db, async (tx) => {
        const pending_sealed = await vault.seal(tx, { ...place(caller.userId), bytes: secret })
        await store.putPending(tx, { person_id: caller.userId, pending_sealed, pending_until })
      })
      const uri = uriOf(secret, { issuer, account: caller.email })
      return {
        secret: new URL(uri).searchParams.get('secret')!,
        uri,
        expires_at: pending_until.toISOString(),
      }
    },

    /** @throws Problem challenge_over; invalid for a wrong code, which may be tried again */
    confirm: (caller: UserCaller, code: string): Promise<Answer<typeof totpConfirm>> =>
      inTransaction(db, async (tx) => {
        await store.lockPerson(tx, caller.userId)
        const totp = await store.totp(tx, caller.userId)
        if (!totp?.pending_sealed || !totp.pending_until || totp.pending_until <= now())
          throw new Problem(
            'challenge_over',
            'The setup of the authenticator app took too long, or is finished. Start again.',
          )
        const step = await stepIn(tx, caller.userId, totp.pending_sealed, code)
        const reason =
          'This is not the code that the app shows now. Check the clock of the device with the app.'
        if (step === undefined) throw new Problem('invalid', reason, { code: reason })
        await store.confirmPending(tx, caller.userId, { step, at: now() })
        return { recovery_codes: await added(tx, caller, 'totp') }
      }),

    /** @throws Problem not_found, conflict */
    removeTotp: (caller: UserCaller): Promise<void> =>
      inTransaction(db, async (tx) => {
        const { role } = await store.lockPerson(tx, caller.userId)
        if (!(await store.removeTotp(tx, caller.userId)))
          throw new Problem('not_found', 'No authenticator app is set up')
        await removed(tx, caller, role, 'totp')
      }),

    /** @throws Problem conflict without a second factor */
    renewCodes: (caller: UserCaller): Promise<{ recovery_codes: string[] }> =>
      inTransaction(db, async (tx) => {
        await store.lockPerson(tx, caller.userId)
        if (!hasFactor(await store.factors(tx, caller.userId)))
          throw new Problem('conflict', 'Add an authenticator app or a passkey first')
        const recovery_codes = await newCodes(tx, caller.userId)
        await recordOf(
          tx,
          caller,
          { id: caller.userId, email: caller.email },
          'recovery_codes_renewed',
        )
        return { recovery_codes }
      }),

    /** Removes all second factors of somebody who has lost them. */
    async reset(tx: Tx, caller: Caller, person: { id: string; email: string }): Promise<void> {
      await store.removeTotp(tx, person.id)
      await store.removePasskeys(tx, person.id)
      await store.removeRecoveryCodes(tx, person.id)
      await recordOf(tx, caller, person, 'second_factor_reset')
    },
  }
}
