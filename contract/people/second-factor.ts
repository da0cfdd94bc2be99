/**
 * The second factor of an account: codes of an authenticator app (TOTP, RFC 6238), passkeys, and
 * recovery codes for both.
 */
import * as z from 'zod/mini'
import { operation, type Words } from '../operation.ts'
import { time } from '../page.ts'

/** Number of recovery codes of an account. Each works once. */
export const recoveryCodes = 10
/** Time to confirm a new authenticator app by its first code, in minutes. */
export const totpSetupMinutes = 10
/** Digits of a code, and the time in seconds after which the app shows the next one. */
export const totp = { digits: 6, periodSeconds: 30 } as const

/**
 * A code of the app, or a recovery code. Spaces and hyphens are ignored, because people copy codes
 * with them.
 */
export const code = z.string().check(
  z.trim(),
  z.minLength(1, 'Enter the code'),
  z.maxLength(40, 'This is not a code'),
  z.overwrite((text) => text.replaceAll(/[\s-]/g, '').toLowerCase()),
)

const RecoveryCodes = z.object({ recovery_codes: z.nullable(z.array(z.string())) })

export const totpBegin = operation('totpBegin', 'POST /v1/session/totp', 'signed_in', {
  summary:
    "Begin to set up an authenticator app for the caller's account. The app gets `uri` as a QR code, or `secret` typed in. It becomes valid with `totpConfirm`, and replaces an earlier app.",
  session: true,
  proof: true,
  answer: z.object({
    /** Base32. */
    secret: z.string(),
    /** `otpauth://totp/…` */
    uri: z.string(),
    expires_at: time,
  }),
})
export const TotpCode = z.strictObject({ code })
export const totpConfirm = operation('totpConfirm', 'POST /v1/session/totp/confirm', 'signed_in', {
  summary:
    'Confirm the new authenticator app by its first code. The first second factor of an account also creates recovery codes, which are returned only now.',
  session: true,
  body: TotpCode,
  answer: RecoveryCodes,
  errors: ['challenge_over'],
})
export const totpRemove = operation('totpRemove', 'DELETE /v1/session/totp', 'signed_in', {
  summary: "Remove the authenticator app from the caller's account.",
  session: true,
  proof: true,
  errors: ['not_found'],
})
export const recoveryCodesRenew = operation(
  'recoveryCodesRenew',
  'POST /v1/session/recovery-codes',
  'signed_in',
  {
    summary: 'Replace all recovery codes of the caller by new ones, which are returned only now.',
    session: true,
    proof: true,
    answer: z.object({ recovery_codes: z.array(z.string()) }),
  },
)

/** Words for the API documentation. */
export const words: Words = {
  fields: {
    'totpConfirm.code': 'The code that the new app shows.',
  },
  bodies: {
    totpConfirm: { code: '123456' },
  },
}
