/**
 * Devices of users, in software: an authenticator app, and an authenticator for passkeys (WebAuthn
 * Level 3) with ES256.
 */
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { codeAt, stepAt } from '../second-factor/totp.ts'

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** The code that an app with this secret (base32) shows at a time. `later`: number of periods. */
export function codeOf(secret: string, ms: number, later = 0): string {
  const bits = Array.from(secret, (letter) =>
    alphabet.indexOf(letter).toString(2).padStart(5, '0'),
  ).join('')
  const bytes = Uint8Array.from(bits.match(/.{8}/g)!, (byte) => parseInt(byte, 2))
  return codeAt(bytes, stepAt(ms) + later)
}

type Cbor = number | string | Uint8Array | ReadonlyMap<number | string, Cbor>

/** CBOR (RFC 8949) of what WebAuthn needs. */
function cbor(value: Cbor): Buffer {
  const head = (major: number, n: number): Buffer => {
    if (n < 24) return Buffer.from([(major << 5) | n])
    if (n < 256) return Buffer.from([(major << 5) | 24, n])
    return Buffer.from([(major << 5) | 25, n >> 8, n & 255])
  }
  if (typeof value === 'number') return value >= 0 ? head(0, value) : head(1, -1 - value)
  if (typeof value === 'string')
    return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)])
  if (value instanceof Uint8Array) return Buffer.concat([head(2, value.length), value])
  return Buffer.concat([
    head(5, value.size),
    ...[...value].flatMap(([key, one]) => [cbor(key), cbor(one)]),
  ])
}

const sha256 = (data: string | Uint8Array): Buffer => createHash('sha256').update(data).digest()
const flags = { present: 0x01, verified: 0x04, attested: 0x40 } as const

/**
 * The options of a challenge that an authenticator reads. A type and no interface, so that it is a
 * record, as the API declares the options.
 */
type Options = {
  readonly challenge: string
  readonly rpId?: string
  readonly rp?: { readonly id: string }
  readonly user?: { readonly id: string }
  readonly allowCredentials?: readonly { readonly id: string }[]
}
/** What a test makes wrong. */
export interface Wrong {
  readonly origin?: string
  readonly rpId?: string
  readonly challenge?: string
  /** The device did not verify its user. */
  readonly unverified?: true
  readonly counter?: number
  readonly userHandle?: string
}

/** An authenticator with at most one passkey. `origin`: the page that asks. */
export function authenticator(origin: string) {
  const id = randomBytes(16)
  let key: KeyObject | undefined
  let userHandle = ''
  let counter = 0

  const clientData = (type: string, challenge: string, wrong: Wrong): Buffer =>
    Buffer.from(
      JSON.stringify({
        type,
        challenge: wrong.challenge ?? challenge,
        origin: wrong.origin ?? origin,
        crossOrigin: false,
      }),
    )
  const authData = (rpId: string, more: number, attested: Uint8Array, wrong: Wrong): Buffer => {
    const count = Buffer.alloc(4)
    count.writeUInt32BE(wrong.counter ?? ++counter)
    const set = flags.present | (wrong.unverified ? 0 : flags.verified) | more
    return Buffer.concat([sha256(wrong.rpId ?? rpId), Buffer.from([set]), count, attested])
  }
  const common = {
    id: id.toString('base64url'),
    rawId: id.toString('base64url'),
    type: 'public-key',
    clientExtensionResults: {},
  }

  return {
    /** Makes the passkey: RegistrationResponseJSON. */
    create(options: Readonly<Record<string, unknown>>, wrong: Wrong = {}): Record<string, unknown> {
      const { challenge, rp, user } = options as Options
      const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      key = privateKey
      userHandle = user!.id
      const { x, y } = publicKey.export({ format: 'jwk' })
      // COSE_Key (RFC 9053): type EC2, algorithm ES256, curve P-256.
      const cose = new Map<number, Cbor>([
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, Buffer.from(x!, 'base64url')],
        [-3, Buffer.from(y!, 'base64url')],
      ])
      const attested = Buffer.concat([
        Buffer.alloc(16),
        Buffer.from([0, id.length]),
        id,
        cbor(cose),
      ])
      const attestation = new Map<string, Cbor>([
        ['fmt', 'none'],
        ['attStmt', new Map()],
        ['authData', authData(rp!.id, flags.attested, attested, wrong)],
      ])
      const response = {
        clientDataJSON: clientData('webauthn.create', challenge, wrong).toString('base64url'),
        attestationObject: cbor(attestation).toString('base64url'),
        transports: ['internal'],
      }
      return { ...common, response }
    },

    /** Answers a challenge with the passkey: AuthenticationResponseJSON. */
    get(options: Readonly<Record<string, unknown>>, wrong: Wrong = {}): Record<string, unknown> {
      const { challenge, rpId } = options as Options
      const data = authData(rpId!, 0, Buffer.alloc(0), wrong)
      const client = clientData('webauthn.get', challenge, wrong)
      const response = {
        clientDataJSON: client.toString('base64url'),
        authenticatorData: data.toString('base64url'),
        signature: sign('sha256', Buffer.concat([data, sha256(client)]), key!).toString(
          'base64url',
        ),
        userHandle: wrong.userHandle ?? userHandle,
      }
      return { ...common, response }
    },

    /** Whether the challenge names this passkey, or none. */
    isAllowed: ({ allowCredentials }: Readonly<Record<string, unknown>>): boolean =>
      !Array.isArray(allowCredentials) ||
      (allowCredentials as { id: string }[]).some((one) => one.id === common.id),
  }
}
