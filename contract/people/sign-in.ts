/**
 * Signing in without a password: with a passkey, or through the OpenID Connect provider of the
 * installation (code flow with PKCE).
 */
import * as z from 'zod/mini'
import { operation, type Words } from '../operation.ts'
import { SignedIn } from '../sessions.ts'
import { PasskeyAnswer } from './passkeys.ts'

/** Time that a user has at the provider, in minutes. */
export const providerMinutes = 10
/**
 * The provider redirects the browser to this page of the console, with `code` and `state` or with
 * `error` in the query.
 */
export const providerReturnPath = '/auth/callback'
/**
 * The cookie that binds a sign-in at the provider to the browser that began it. Sent only to
 * `/v1/authorize`.
 */
export const providerCookie = 'steelyard_provider'

export const authorizePasskey = operation('authorizePasskey', 'POST /v1/authorize/passkey', null, {
  summary:
    'Sign in with a passkey, which is both factors at once: the device has verified its user.',
  body: PasskeyAnswer,
  answer: SignedIn,
  errors: ['invalid_credentials', 'challenge_over', 'conflict', 'forbidden'],
})

/**
 * A path of the console, to which the user returns. Browsers read `//host` and `/\host` as an
 * address of another site, and leave out tabs and line breaks (URL Standard, section 4.4), so only
 * visible ASCII characters without the backslash are accepted.
 */
const path = z
  .string()
  .check(z.maxLength(2000), z.regex(/^\/(?!\/)[!-[\]-~]*$/, 'Expected a path of the console'))
export const ReturnTo = z.strictObject({ return_to: z.optional(path) })
const proofState = 'proof.'
/** The value of `state` for the provider, which returns it unchanged. `id`: of the challenge. */
export const stateOf = (id: string, isProof: boolean): string =>
  `${isProof ? proofState : 'sign-in.'}${id}`
/**
 * Whether a return from the provider proves the identity of a session (`sessionProve`). Otherwise
 * it signs in (`authorizeProviderFinish`).
 */
export const isProofState = (state: string): boolean => state.startsWith(proofState)

/**
 * What the provider put into the query of `providerReturnPath`. The console leaves out unknown
 * parameters.
 */
export const ProviderAnswer = z.strictObject({
  state: z.string().check(z.minLength(1), z.maxLength(200)),
  code: z.optional(z.string().check(z.maxLength(4000))),
  iss: z.optional(z.string().check(z.maxLength(2000))),
  error: z.optional(z.string().check(z.maxLength(200))),
  error_description: z.optional(z.string().check(z.maxLength(2000))),
})
export type ProviderAnswer = z.infer<typeof ProviderAnswer>

export const authorizeProvider = operation(
  'authorizeProvider',
  'POST /v1/authorize/provider',
  null,
  {
    summary: 'Begin to sign in through the identity provider. The browser goes to `url`.',
    body: ReturnTo,
    answer: z.object({ url: z.string() }),
    errors: ['conflict', 'provider_refused', 'provider_unreachable'],
  },
)
export const authorizeProviderFinish = operation(
  'authorizeProviderFinish',
  'POST /v1/authorize/provider/finish',
  null,
  {
    summary:
      'Finish the sign-in with what the identity provider sent to the browser. Works once, in the browser that began it.',
    body: ProviderAnswer,
    answer: z.extend(SignedIn, {
      /** The path that was given at the beginning. */
      return_to: z.nullable(z.string()),
    }),
    errors: [
      'conflict',
      'challenge_over',
      'user_exists',
      'provider_refused',
      'provider_unreachable',
    ],
  },
)

/** Words for the API documentation. */
export const words: Words = {
  objects: {
    ProviderAnswer: [
      ProviderAnswer,
      'The query with which the identity provider sent the browser back.',
    ],
  },
  fields: {
    'authorizeProviderFinish.code': 'The authorization code.',
    error: 'Error code of the identity provider.',
    error_description: "The provider's explanation of the error.",
    iss: 'The issuer that the provider names.',
    return_to: 'Path of the console to which the user returns afterwards.',
    state: 'The `state` that Steelyard sent to the provider.',
  },
  bodies: {
    authorizePasskey: {
      challenge_id: '00000000-0000-4000-8000-000000000007',
      credential: { id: 'AQID', rawId: 'AQID', type: 'public-key', response: {} },
    },
    authorizeProvider: { return_to: '/infra/servers' },
    authorizeProviderFinish: {
      state: 'sign-in.00000000-0000-4000-8000-000000000008',
      code: 'the code of the provider',
    },
  },
}
