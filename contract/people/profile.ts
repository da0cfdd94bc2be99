/** The caller's own account, and the renewed proof of identity. */
import * as z from 'zod/mini'
import { operation, type Words } from '../operation.ts'
import { time } from '../page.ts'
import { Role } from '../permissions.ts'
import { displayName, oldPassword, SignInMethod, User } from '../sessions.ts'
import { Passkey, PasskeyAnswer, PasskeyChallenge } from './passkeys.ts'
import { ProviderAnswer, ReturnTo } from './sign-in.ts'

/** For this long after a proof, calls that need one don't ask for it. */
export const proofMinutes = 15

/** A colleague who may change the caller's role. */
const Administrator = z.object({ name: z.string(), email: z.string() })

export const profileGet = operation('profileGet', 'GET /v1/session/profile', 'signed_in', {
  summary:
    "The caller's own account: role, ways to sign in, second factor, and who can change the role.",
  session: true,
  answer: z.object({
    user: User,
    role: Role,
    created_at: time,
    /**
     * Whether the account has a password; without one it signs in with a passkey or through the
     * identity provider.
     */
    has_password: z.boolean(),
    /** Whether the account has signed in through the identity provider. */
    has_provider: z.boolean(),
    /** How this session was signed in. */
    method: SignInMethod,
    /** Until when calls that need a proof of identity don't ask for it. */
    proof_until: time,
    /** Whether the role requires a second factor. */
    second_factor_required: z.boolean(),
    /** Time since which an authenticator app is set up. */
    totp_since: z.nullable(time),
    passkeys: z.array(Passkey),
    /** Number of unused recovery codes. */
    recovery_codes: z.int(),
    /** The first admins by name, at most 10. */
    administrators: z.array(Administrator),
  }),
})
export const ProfileChange = z.strictObject({ name: displayName })
export const profileUpdate = operation('profileUpdate', 'PATCH /v1/session/profile', 'signed_in', {
  summary: "Change the caller's own displayed name.",
  session: true,
  body: ProfileChange,
  answer: User,
})

export const sessionProvePasskey = operation(
  'sessionProvePasskey',
  'POST /v1/session/proof/passkey',
  'signed_in',
  {
    summary:
      "Begin to prove the caller's identity with a passkey. The browser's answer goes to `sessionProve`.",
    session: true,
    answer: PasskeyChallenge,
  },
)
export const sessionProveProvider = operation(
  'sessionProveProvider',
  'POST /v1/session/proof/provider',
  'signed_in',
  {
    summary:
      "Begin to prove the caller's identity through the identity provider, which asks the user to sign in again. The browser goes to `url`.",
    session: true,
    body: ReturnTo,
    answer: z.object({ url: z.string() }),
    errors: ['provider_refused', 'provider_unreachable'],
  },
)
/** Exactly one of the three. */
export const Proof = z
  .strictObject({
    password: z.optional(oldPassword),
    passkey: z.optional(PasskeyAnswer),
    provider: z.optional(ProviderAnswer),
  })
  .check(
    z.refine(
      ({ password, passkey, provider }) =>
        [password, passkey, provider].filter((one) => one !== undefined).length === 1,
      {
        error: 'Give a password, the answer of a passkey, or the answer of the identity provider',
      },
    ),
  )
export const sessionProve = operation('sessionProve', 'POST /v1/session/proof', 'signed_in', {
  summary:
    "Prove the caller's identity again. For 15 minutes, calls that need a recent proof are then accepted in this session: downloading credentials, deleting a cluster, changing users, creating API tokens, changing the second factor.",
  session: true,
  body: Proof,
  answer: z.object({ proof_until: time, return_to: z.nullable(z.string()) }),
  errors: ['challenge_over', 'provider_refused', 'provider_unreachable'],
})

/** Words for the API documentation. */
export const words: Words = {
  fields: {
    'sessionProve.code': 'The authorization code.',
    'profileUpdate.name': 'Displayed name.',
    'sessionProve.password': 'Current password.',
    passkey: 'The answer of one of the caller’s passkeys.',
    provider: 'The answer of the identity provider.',
  },
  bodies: {
    profileUpdate: { name: 'Ada' },
    sessionProve: { password: 'correct horse battery' },
    sessionProveProvider: { return_to: '/infra/clusters' },
  },
}
