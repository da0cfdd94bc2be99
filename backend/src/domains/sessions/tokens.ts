/**
 * Access tokens: JWTs signed with EdDSA (RFC 8037). The keys are stored encrypted in the database
 * and change every 30 days.
 */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomUUID,
} from 'node:crypto'
import { errors as joseErrors, jwtVerify, SignJWT } from 'jose'
import * as z from 'zod/mini'
import { type Scope, scopes as allScopes } from '#contract/permissions.ts'
import { accessTokenLifetimeSeconds } from '#contract/sessions.ts'
import { inTransaction } from '../../db/db.ts'
import type { Platform } from '../../platform.ts'

export interface AccessToken {
  readonly userId: string
  readonly sessionId: string
  readonly email: string
  readonly scopes: readonly Scope[]
  readonly endsAt: number
}

export type Tokens = ReturnType<typeof tokens>

const issuer = 'steelyard'
const audience = 'steelyard-api'
const keyLifeMs = 30 * 86_400_000
/** Tolerated difference between the clocks of replicas. */
const toleranceSeconds = 30
const lookAgainMs = 60_000
const lookForUnknownMs = 2_000
/**
 * Cache size of verified tokens: verifying costs more than most calls. The session is checked each
 * time.
 */
const mostRemembered = 5_000

type Key = {
  readonly id: string
  readonly publicKey: KeyObject
  readonly privateKey: KeyObject
  readonly createdAt: number
}

/** Ids are validated first, because the database answers an invalid id with an error. */
const isUuid = (claim: unknown): claim is string => z.safeParse(z.uuid(), claim).success

export function tokens({ db, clock, vault }: Pick<Platform, 'db' | 'clock' | 'vault'>) {
  let known = new Map<string, Key>()
  let readAt = -Infinity
  const verified = new Map<string, AccessToken & { from: number }>()
  const place = (id: string) => ({
    table: 'signing_key',
    column: `private_sealed|${id}`,
    owner: 'installation',
  })

  const readKeys = async (): Promise<void> => {
    const rows = await db.selectFrom('signing_key').selectAll().execute()
    const keys = await Promise.all(
      rows.map(async (row): Promise<Key> => {
        const kept = known.get(row.id)
        if (kept) return kept
        const pem = await vault.open(db, { ...place(row.id), sealed: row.private_sealed })
        return {
          id: row.id,
          publicKey: createPublicKey({ key: row.public_jwk, format: 'jwk' }),
          privateKey: createPrivateKey(pem),
          createdAt: row.created_at.getTime(),
        }
      }),
    )
    known = new Map(keys.map((k) => [k.id, k]))
    readAt = clock.monotonic()
  }

  const newest = () => [...known.values()].toSorted((a, b) => b.createdAt - a.createdAt)[0]
  const fresh = (key: Key | undefined): key is Key =>
    key !== undefined && clock.now() - key.createdAt < keyLifeMs

  /** One process generates a new key; the other processes read that key. */
  const signingKey = async (): Promise<Key> => {
    if (clock.monotonic() - readAt > lookAgainMs || !fresh(newest())) await readKeys()
    if (!fresh(newest())) {
      await inTransaction(db, async (tx) => {
        await tx.selectFrom('installation').select('id').forUpdate().execute()
        const last = await tx
          .selectFrom('signing_key')
          .select('created_at')
          .orderBy('created_at', 'desc')
          .limit(1)
          .executeTakeFirst()
        if (last && clock.now() - last.created_at.getTime() < keyLifeMs) return
        const { publicKey, privateKey } = generateKeyPairSync('ed25519')
        const id = randomUUID()
        const private_sealed = await vault.seal(tx, {
          ...place(id),
          bytes: Buffer.from(privateKey.export({ type: 'pkcs8', format: 'pem' })),
        })
        await tx
          .insertInto('signing_key')
          .values({
            id,
            public_jwk: JSON.stringify(publicKey.export({ format: 'jwk' })),
            private_sealed,
            created_at: new Date(clock.now()),
          })
          .execute()
        // The previous key stays, because tokens signed with it are still valid for minutes.
        await tx
          .deleteFrom('signing_key')
          .where('created_at', '<', new Date(clock.now() - 2 * keyLifeMs))
          .execute()
      })
      await readKeys()
    }
    return newest()!
  }

  const verifyingKey = async (id: string | undefined): Promise<KeyObject> => {
    if (id !== undefined && !known.has(id) && clock.monotonic() - readAt > lookForUnknownMs)
      await readKeys()
    if (clock.monotonic() - readAt > lookAgainMs) await readKeys()
    const key = id === undefined ? undefined : known.get(id)
    if (!key) throw new joseErrors.JWKSNoMatchingKey()
    return key.publicKey
  }

  return {
    /**
     * Reads the key, and returns the function that issues tokens with it, which needs no database:
     * it may be called after a commit.
     */
    async issuer(): Promise<
      (token: Omit<AccessToken, 'endsAt'> & { sessionEndsAt: number }) => Promise<string>
    > {
      const key = await signingKey()
      return ({ userId, sessionId, email, scopes, sessionEndsAt }) => {
        const now = Math.floor(clock.now() / 1000)
        // A token is never valid for longer than its session.
        const end = Math.min(now + accessTokenLifetimeSeconds, Math.floor(sessionEndsAt / 1000))
        return new SignJWT({ sid: sessionId, email, scopes })
          .setProtectedHeader({ alg: 'EdDSA', kid: key.id, typ: 'JWT' })
          .setSubject(userId)
          .setIssuer(issuer)
          .setAudience(audience)
          .setIssuedAt(now)
          .setNotBefore(now)
          .setExpirationTime(end)
          .setJti(randomUUID())
          .sign(key.privateKey)
      }
    },

    /**
     * Undefined for an invalid token: forged, changed, expired or from another issuer. Doesn't
     * check whether the session is still open.
     */
    async verify(token: string): Promise<AccessToken | undefined> {
      const known = verified.get(token)
      if (known && known.endsAt > clock.now() && known.from <= clock.now()) return known
      verified.delete(token)
      try {
        const { payload } = await jwtVerify(token, (header) => verifyingKey(header.kid), {
          algorithms: ['EdDSA'],
          issuer,
          audience,
          typ: 'JWT',
          currentDate: new Date(clock.now()),
          clockTolerance: toleranceSeconds,
          requiredClaims: ['sub', 'sid', 'email', 'scopes', 'iat', 'nbf', 'exp', 'jti'],
        })
        const { sub, sid, email, scopes, exp } = payload
        if (!isUuid(sub) || !isUuid(sid) || typeof email !== 'string' || !Array.isArray(scopes))
          return undefined
        // The tolerance is for clocks that are ahead; it must not extend a token's life.
        if (exp! * 1000 <= clock.now()) return undefined
        const held = scopes.filter((s): s is Scope => (allScopes as readonly unknown[]).includes(s))
        const good = { userId: sub, sessionId: sid, email, scopes: held, endsAt: exp! * 1000 }
        if (verified.size >= mostRemembered) verified.clear()
        verified.set(token, { ...good, from: clock.now() })
        return good
      } catch (error) {
        if (error instanceof joseErrors.JOSEError) return undefined
        throw error
      }
    },
  }
}
