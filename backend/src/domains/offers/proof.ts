/**
 * Proof that software in a cluster holds the key of its offer's access address. Both calls need no
 * session: the key is the only secret of that software. A nonce is made of random bytes, its end,
 * and a keyed hash of these with the offer and the address. So a challenge stores nothing, however
 * many strangers ask for one; only the nonces of successful proofs are stored, until they would
 * have expired.
 */
import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'
import { Problem } from '#contract/errors.ts'
import {
  canProve,
  challengeLifetimeMs,
  type offerChallenge,
  type offerProve,
  proofMessage,
} from '#contract/marketplace/offers.ts'
import type { Answer, Input } from '#contract/operation.ts'
import { signersOf } from '../../chain-address.ts'
import { inTransaction } from '../../db/db.ts'
import type { Caller } from '../../http/caller.ts'
import { demand } from '../../http/errors.ts'
import { bucket } from '../../http/limits.ts'
import { existing } from '../../http/tags.ts'
import { sourceOf } from '../../network.ts'
import { nowOf, type OfferParts, targetOf } from './parts.ts'
import { present } from './present.ts'
import * as store from './store.ts'

/**
 * Both calls of a source share these limits. Software in a cluster proves every few minutes, with
 * two calls.
 */
const perSecond = 1 / 2
const burst = 20

const randomLength = 16
const endLength = 6
const hashLength = 32
const nonceLength = randomLength + endLength + hashLength

const over = () =>
  new Problem(
    'challenge_over',
    'This nonce is unknown, has expired, or was used already. Request a new challenge',
  )

/** Issues nonces for an offer and an address, and checks them. `endsAt` is in ms since 1970. */
export function nonces(installationKey: () => Promise<Uint8Array>) {
  const hashOf = async (head: Uint8Array, offerId: string, address: string): Promise<Buffer> => {
    const key = new Uint8Array(
      hkdfSync('sha256', await installationKey(), new Uint8Array(), 'challenges of offers', 32),
    )
    return createHmac('sha256', key)
      .update(JSON.stringify([Buffer.from(head).toString('hex'), offerId, address]))
      .digest()
  }
  return {
    async make(offerId: string, address: string, endsAt: number): Promise<string> {
      const end = Buffer.alloc(endLength)
      end.writeUIntBE(endsAt, 0, endLength)
      const head = Buffer.concat([randomBytes(randomLength), end])
      return Buffer.concat([head, await hashOf(head, offerId, address)]).toString('base64url')
    },
    /** When the nonce ends; undefined if it was not made for this offer and this address. */
    async endOf(nonce: string, offerId: string, address: string): Promise<number | undefined> {
      const bytes = Buffer.from(nonce, 'base64url')
      // base64url has several spellings of some bytes. Only one of them counts, so that a used
      // nonce can't be used again in another spelling.
      if (bytes.length !== nonceLength || bytes.toString('base64url') !== nonce) return undefined
      const head = bytes.subarray(0, randomLength + endLength)
      if (!timingSafeEqual(bytes.subarray(head.length), await hashOf(head, offerId, address)))
        return undefined
      return head.readUIntBE(randomLength, endLength)
    },
  }
}

export function proofs(parts: OfferParts) {
  const { db, clock, log, record, tell } = parts
  const pace = bucket({ perSecond, burst, clock })
  const issued = nonces(parts.installationKey)

  const slowDown = (ip: string): void =>
    pace.demand(sourceOf(ip), 'Too many requests. Please wait a moment.')

  /** The offer's access address. @throws Problem transition_refused */
  const addressOf = (row: store.OfferRow): string => {
    const offer = present(row)
    demand(canProve(offer), 'transition_refused')
    return offer.access_address!
  }

  return {
    /** @throws Problem throttled, not_found, transition_refused */
    async challenge(offerId: string, ip: string): Promise<Answer<typeof offerChallenge>> {
      slowDown(ip)
      const address = addressOf(existing(await store.find(db, offerId), 'offer'))
      const endsAt = clock.now() + challengeLifetimeMs
      const nonce = await issued.make(offerId, address, endsAt)
      return {
        address,
        nonce,
        message: proofMessage({ offerId, address, nonce }),
        expires_at: new Date(endsAt).toISOString(),
      }
    },

    /** @throws Problem throttled, not_found, transition_refused, challenge_over, wrong_key */
    async prove(
      caller: Caller,
      offerId: string,
      { nonce, signature }: Input<typeof offerProve>['body'],
      ip: string,
    ): Promise<Answer<typeof offerProve>> {
      slowDown(ip)
      const address = addressOf(existing(await store.find(db, offerId), 'offer'))
      const endsAt = await issued.endOf(nonce, offerId, address)
      const now = clock.now()
      // An end too far ahead is of a clock that was wrong.
      if (endsAt === undefined || endsAt <= now || endsAt > now + challengeLifetimeMs) throw over()
      const signers = await signersOf(
        proofMessage({ offerId, address, nonce }),
        Buffer.from(signature.slice(2), 'hex'),
      )
      if (!signers.includes(address)) {
        log.warn('offer.wrong_key', { offer_id: offerId, ip })
        throw new Problem(
          'wrong_key',
          `The signature was not made with the key of ${address}, the access address of this offer`,
        )
      }
      return inTransaction(db, async (tx) => {
        const before = existing(await store.lock(tx, offerId), 'offer')
        // The access address may have changed since it was read.
        if (addressOf(before) !== address || !(await store.spendNonce(tx, nonce, new Date(endsAt))))
          throw over()
        const proven_at = nowOf(parts)
        if (before.proven_at === null) {
          const after = await store.update(tx, offerId, { proven_at }, proven_at)
          await record(tx, caller, {
            action: 'offer.proven',
            target: targetOf(after),
            after: { access_address: address },
            event: { name: 'offer.updated', version: after.version },
          })
        } else {
          await store.noteProof(tx, offerId, proven_at)
          await tell(tx, caller, {
            name: 'offer.updated',
            object: { kind: 'offer', id: offerId },
            version: before.version,
          })
        }
        return { offer_id: offerId, address, proven_at: proven_at.toISOString() }
      })
    },

    /** Called once an hour. */
    removeOld: async (): Promise<void> => void (await store.removeNonces(db, nowOf(parts))),
  }
}
