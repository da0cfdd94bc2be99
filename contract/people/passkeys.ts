/**
 * Passkeys (WebAuthn Level 3). The browser's `parseCreationOptionsFromJSON`,
 * `parseRequestOptionsFromJSON` and `PublicKeyCredential.toJSON` read and write the JSON of
 * `options` and `credential`.
 */
import * as z from 'zod/mini'
import { parseAddress } from '../network/addresses.ts'
import { seen } from '../names.ts'
import { operation, type Words } from '../operation.ts'
import { time } from '../page.ts'
import { no, type Verdict, yes } from '../rule.ts'

/** Life of a challenge, in minutes. A challenge is used once. */
export const challengeMinutes = 5
export const mostPasskeys = 20

/**
 * A challenge for a passkey. `options`: PublicKeyCredentialCreationOptionsJSON or
 * PublicKeyCredentialRequestOptionsJSON, for the browser.
 */
export const PasskeyChallenge = z.object({
  challenge_id: z.uuid(),
  options: z.record(z.string(), z.unknown()),
})
export type PasskeyChallenge = z.infer<typeof PasskeyChallenge>

/**
 * The answer to a challenge. `credential`: RegistrationResponseJSON or AuthenticationResponseJSON,
 * as `PublicKeyCredential.toJSON()` returns it.
 */
export const PasskeyAnswer = z.strictObject({
  challenge_id: z.uuid(),
  credential: z.record(z.string(), z.unknown()),
})
export type PasskeyAnswer = z.infer<typeof PasskeyAnswer>

export const Passkey = z.object({
  id: z.uuid(),
  name: z.string(),
  created_at: time,
  last_used_at: z.nullable(time),
  /** Whether the passkey is synchronised between devices; if not, it is lost with its device. */
  backed_up: z.boolean(),
})
export type Passkey = z.infer<typeof Passkey>

/**
 * Whether passkeys work at this address. Browsers bind a passkey to a host name, and offer passkeys
 * only over HTTPS or on localhost (WebAuthn Level 3, section 5.1.3).
 * @param url address of the console, such as `location.origin` or `STEELYARD_PUBLIC_URL`
 */
export function passkeysAt(url: string): Verdict {
  const { hostname, protocol } = new URL(url)
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  if (parseAddress(host))
    return no(
      `Passkeys need a host name, and ${host} is an IP address: open Steelyard by a name that STEELYARD_PUBLIC_URL contains`,
    )
  const isLocal = host === 'localhost' || host.endsWith('.localhost')
  return protocol === 'https:' || isLocal ? yes : no('Browsers offer passkeys only over HTTPS')
}

/**
 * Whether passkeys of the installation work for a console at `url`. `rpId` comes from
 * `installationGet`.
 */
export function passkeysOf(rpId: string, url: string): Verdict {
  const { hostname } = new URL(url)
  if (hostname === rpId || hostname.endsWith(`.${rpId}`)) return passkeysAt(url)
  return no(`The passkeys of this Steelyard work only at ${rpId}: open it at that address`)
}

const name = z
  .string()
  .check(
    z.trim(),
    z.minLength(1, 'Enter a name'),
    z.maxLength(40, 'A name has at most 40 characters'),
    seen(),
  )
export const PasskeyName = z.strictObject({ name })

export const passkeyBegin = operation(
  'passkeyBegin',
  'POST /v1/session/passkeys/challenge',
  'signed_in',
  {
    summary:
      "Begin to add a passkey to the caller's account. The response goes to the browser, and the browser's answer to `passkeyAdd`.",
    session: true,
    proof: true,
    answer: PasskeyChallenge,
  },
)
export const NewPasskey = z.extend(PasskeyAnswer, { name })
export const passkeyAdd = operation('passkeyAdd', 'POST /v1/session/passkeys', 'signed_in', {
  summary:
    "Add a passkey to the caller's account. The first second factor of an account also creates recovery codes, which are returned only now.",
  session: true,
  body: NewPasskey,
  answer: z.object({ passkey: Passkey, recovery_codes: z.nullable(z.array(z.string())) }),
  status: 201,
  // The response contains recovery codes, and a challenge can't be answered twice.
  kept: false,
  errors: ['challenge_over'],
})
export const passkeyRename = operation(
  'passkeyRename',
  'PATCH /v1/session/passkeys/{id}',
  'signed_in',
  {
    summary: "Rename a passkey of the caller's account.",
    session: true,
    body: PasskeyName,
    answer: Passkey,
  },
)
export const passkeyRemove = operation(
  'passkeyRemove',
  'DELETE /v1/session/passkeys/{id}',
  'signed_in',
  {
    summary: "Remove a passkey from the caller's account.",
    session: true,
    proof: true,
  },
)

export const authorizePasskeyBegin = operation(
  'authorizePasskeyBegin',
  'POST /v1/authorize/passkey/challenge',
  null,
  {
    summary:
      "Begin to sign in with a passkey. The response goes to the browser, and the browser's answer to `authorizePasskey`. No email is needed.",
    answer: PasskeyChallenge,
    errors: ['conflict', 'forbidden'],
  },
)

/** Words for the API documentation. */
export const words: Words = {
  objects: {
    Passkey: [Passkey, 'A passkey of a user (WebAuthn).'],
    PasskeyAnswer: [PasskeyAnswer, "The browser's answer to a challenge for a passkey."],
    PasskeyChallenge: [
      PasskeyChallenge,
      'A challenge for a passkey, for the browser. It is answered once, within five minutes.',
    ],
  },
  fields: {
    'passkeyAdd.name': 'Name of the passkey.',
    'passkeyRename.name': 'Name of the passkey.',
  },
  bodies: {
    passkeyAdd: {
      challenge_id: '00000000-0000-4000-8000-000000000007',
      credential: { id: 'AQID', rawId: 'AQID', type: 'public-key', response: {} },
      name: 'Laptop',
    },
    passkeyRename: { name: 'Laptop' },
  },
}
