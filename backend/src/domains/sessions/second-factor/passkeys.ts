/**
 * Passkeys (WebAuthn Level 3): adding one to an account, and checking the answer to a challenge. A
 * passkey must verify its user (fingerprint, PIN), so it is both factors at once. The library is
 * loaded at its first use, because few processes need it.
 */
import type { AuthenticatorTransport } from '@simplewebauthn/server'
import * as z from 'zod/mini'
import { Problem } from '#contract/errors.ts'
import {
  challengeMinutes,
  mostPasskeys,
  type NewPasskey,
  type Passkey,
  type PasskeyAnswer,
  type PasskeyChallenge,
  passkeysAt,
} from '#contract/people/passkeys.ts'
import { inTransaction, type Tx } from '../../../db/db.ts'
import type { UserCaller } from '../../../http/caller.ts'
import type { Platform } from '../../../platform.ts'
import type { ChallengeKind, Challenges } from '../challenges/challenges.ts'
import type { SecondFactors } from './second-factor.ts'
import * as store from './store.ts'

export type Passkeys = ReturnType<typeof passkeys>

const library = async () => {
  // The library uses @peculiar/x509, which needs it. In the compiled program nothing else may have
  // loaded it yet.
  await import('reflect-metadata')
  return import('@simplewebauthn/server')
}

const longest = 4096
const base64url = z
  .string()
  .check(z.minLength(1), z.maxLength(longest), z.regex(/^[A-Za-z0-9_-]+$/))
const common = { id: base64url, rawId: base64url, type: z.literal('public-key') }
/** RegistrationResponseJSON, without what is not used. */
const Registration = z.object({
  ...common,
  response: z.object({
    clientDataJSON: base64url,
    attestationObject: base64url,
    transports: z._default(z.array(z.string().check(z.maxLength(20))).check(z.maxLength(10)), []),
  }),
})
/** AuthenticationResponseJSON, without what is not used. */
const Authentication = z.object({
  ...common,
  response: z.object({
    clientDataJSON: base64url,
    authenticatorData: base64url,
    signature: base64url,
    userHandle: z.optional(z.nullable(base64url)),
  }),
})

const present = ({ id, name, created_at, last_used_at, backed_up }: store.PasskeyRow): Passkey => ({
  id,
  name,
  created_at: created_at.toISOString(),
  last_used_at: last_used_at?.toISOString() ?? null,
  backed_up,
})

const over = () =>
  new Problem(
    'challenge_over',
    'The request for a passkey was answered already, or took too long. Try again.',
  )
/** The user handle of a person: the bytes of the id, which is random. */
const handleOf = (personId: string): Uint8Array<ArrayBuffer> =>
  new Uint8Array(Buffer.from(personId.replaceAll('-', ''), 'hex'))

interface PasskeyParts extends Pick<Platform, 'db' | 'clock' | 'config' | 'log'> {
  readonly challenges: Challenges
  readonly secondFactors: SecondFactors
}

export function passkeys({ db, clock, config, log, challenges, secondFactors }: PasskeyParts) {
  const { hostname: rpID, origin } = new URL(config.publicUrl)
  const possible = passkeysAt(config.publicUrl)
  const demandPossible = (): void => {
    if (!possible.ok) throw new Problem('conflict', possible.reason)
  }

  const begin = async (
    kind: ChallengeKind,
    { sessionId, allowed }: { sessionId?: string; allowed?: readonly store.PasskeyRow[] } = {},
  ): Promise<PasskeyChallenge> => {
    demandPossible()
    const challenge_id = await challenges.begin(kind, challengeMinutes, {
      session_id: sessionId ?? null,
    })
    const { generateAuthenticationOptions } = await library()
    const options = await generateAuthenticationOptions({
      rpID,
      challenge: new Uint8Array(
        Buffer.from(await challenges.derive('passkey', challenge_id), 'base64url'),
      ),
      timeout: challengeMinutes * 60_000,
      userVerification: 'required',
      ...(allowed && {
        allowCredentials: allowed.map(({ credential_id: id, transports }) => ({
          id,
          transports: transports as AuthenticatorTransport[],
        })),
      }),
    })
    return { challenge_id, options: { ...options } }
  }

  return {
    /** Whether passkeys work, and the host name to which they are bound. */
    installation: {
      rp_id: possible.ok ? rpID : null,
      reason: possible.ok ? null : possible.reason,
    },

    of: async (personId: string): Promise<Passkey[]> =>
      (await store.passkeys(db, personId)).map(present),

    /**
     * A challenge for any passkey of this installation. @throws Problem conflict if passkeys don't
     * work here
     */
    beginSignIn: (): Promise<PasskeyChallenge> => begin('passkey_sign_in'),

    /** A challenge for one of the caller's passkeys. @throws Problem conflict */
    async beginProof(caller: UserCaller): Promise<PasskeyChallenge> {
      const allowed = await store.passkeys(db, caller.userId)
      if (allowed.length === 0) throw new Problem('conflict', 'Your account has no passkey')
      return begin('passkey_proof', { sessionId: caller.sessionId, allowed })
    },

    /**
     * Checks the answer to a challenge, which is used up. Returns the passkey and its person;
     * undefined if the passkey is unknown or its answer isn't valid.
     * @param caller the session that asked for the challenge; without it, the challenge is one for
     * a sign-in
     * @throws Problem challenge_over, invalid
     */
    async check(
      { challenge_id, credential }: PasskeyAnswer,
      caller?: UserCaller,
    ): Promise<{ id: string; personId: string } | undefined> {
      demandPossible()
      const read = z.safeParse(Authentication, credential)
      if (!read.success)
        throw new Problem('invalid', "This is not a passkey's answer", {
          credential: "This is not a passkey's answer",
        })
      const challenge = await challenges.spend(
        caller ? 'passkey_proof' : 'passkey_sign_in',
        challenge_id,
        { sessionId: caller?.sessionId ?? null },
      )
      if (!challenge) throw over()
      const { response, ...rest } = read.data
      const row = await store.passkeyOf(db, rest.id)
      if (!row || (caller && row.person_id !== caller.userId)) return undefined
      const { userHandle, ...signed } = response
      if (userHandle && !Buffer.from(userHandle, 'base64url').equals(handleOf(row.person_id)))
        return undefined
      const { verifyAuthenticationResponse } = await library()
      try {
        const { verified, authenticationInfo } = await verifyAuthenticationResponse({
          response: { ...rest, response: signed, clientExtensionResults: {} },
          expectedChallenge: await challenges.derive('passkey', challenge_id),
          expectedOrigin: origin,
          expectedRPID: rpID,
          requireUserVerification: true,
          credential: {
            id: row.credential_id,
            publicKey: new Uint8Array(row.public_key),
            counter: row.counter,
            transports: row.transports,
          },
        })
        const next = {
          counter: authenticationInfo.newCounter,
          backed_up: authenticationInfo.credentialBackedUp,
          at: new Date(clock.now()),
        }
        return verified && (await store.usePasskey(db, row, next))
          ? { id: row.id, personId: row.person_id }
          : undefined
      } catch (error) {
        // The library throws for everything that an answer may have wrong, such as another origin
        // or a counter that went back, which a copied device shows.
        log.info('passkey.refused', { user_id: row.person_id, error })
        return undefined
      }
    },

    /** Whether the passkey was not removed. */
    isKept: (tx: Tx, id: string): Promise<boolean> => store.hasPasskey(tx, id),

    /** @throws Problem conflict */
    async beginNew(caller: UserCaller): Promise<PasskeyChallenge> {
      demandPossible()
      const known = await store.passkeys(db, caller.userId)
      if (known.length >= mostPasskeys)
        throw new Problem(
          'conflict',
          `An account has at most ${mostPasskeys} passkeys: remove one first`,
        )
      const challenge_id = await challenges.begin('passkey_new', challengeMinutes, {
        session_id: caller.sessionId,
      })
      const { generateRegistrationOptions } = await library()
      const options = await generateRegistrationOptions({
        rpName: 'Steelyard',
        rpID,
        userID: handleOf(caller.userId),
        userName: caller.email,
        userDisplayName: caller.email,
        challenge: new Uint8Array(
          Buffer.from(await challenges.derive('passkey', challenge_id), 'base64url'),
        ),
        timeout: challengeMinutes * 60_000,
        // The make of the device is of no interest, and asking for it would make browsers ask for
        // consent.
        attestationType: 'none',
        excludeCredentials: known.map(({ credential_id: id, transports }) => ({
          id,
          transports: transports as AuthenticatorTransport[],
        })),
        authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      })
      return { challenge_id, options: { ...options } }
    },

    /** @throws Problem challenge_over, invalid, conflict */
    async add(
      caller: UserCaller,
      { challenge_id, credential, name }: z.output<typeof NewPasskey>,
    ): Promise<{ passkey: Passkey; recovery_codes: string[] | null }> {
      demandPossible()
      const refuse = (reason: string) => new Problem('invalid', reason, { credential: reason })
      const read = z.safeParse(Registration, credential)
      if (!read.success) throw refuse('This is not a new passkey')
      if (!(await challenges.spend('passkey_new', challenge_id, { sessionId: caller.sessionId })))
        throw over()
      const { verifyRegistrationResponse } = await library()
      const expectedChallenge = await challenges.derive('passkey', challenge_id)
      const { response, ...rest } = read.data
      const info = await verifyRegistrationResponse({
        response: { ...rest, response, clientExtensionResults: {} },
        expectedChallenge,
        expectedOrigin: origin,
        expectedRPID: rpID,
        requireUserVerification: true,
      }).then(
        ({ registrationInfo }) => registrationInfo,
        (error: unknown) => {
          log.info('passkey.refused', { user_id: caller.userId, error })
          return undefined
        },
      )
      if (!info) throw refuse('The browser made no valid passkey for this address')
      return inTransaction(db, async (tx) => {
        await store.lockPerson(tx, caller.userId)
        const row = await store.insertPasskey(tx, {
          person_id: caller.userId,
          credential_id: info.credential.id,
          public_key: Buffer.from(info.credential.publicKey),
          counter: info.credential.counter,
          transports: response.transports,
          backed_up: info.credentialBackedUp,
          name,
          created_at: new Date(clock.now()),
        })
        if (!row) throw new Problem('conflict', 'This passkey is known already')
        return {
          passkey: present(row),
          recovery_codes: await secondFactors.added(tx, caller, 'passkey', name),
        }
      })
    },

    /** @throws Problem not_found */
    rename: (caller: UserCaller, id: string, name: string): Promise<Passkey> =>
      inTransaction(db, async (tx) => {
        const row = await store.renamePasskey(tx, { id, personId: caller.userId, name })
        if (!row) throw new Problem('not_found', 'There is no such passkey')
        return present(row)
      }),

    /** @throws Problem not_found, conflict */
    remove: (caller: UserCaller, id: string): Promise<void> =>
      inTransaction(db, async (tx) => {
        const { role } = await store.lockPerson(tx, caller.userId)
        if ((await store.removePasskeys(tx, caller.userId, id)) === 0)
          throw new Problem('not_found', 'There is no such passkey')
        await secondFactors.removed(tx, caller, role, 'passkey')
      }),
  }
}
