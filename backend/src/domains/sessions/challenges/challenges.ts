/**
 * Challenges that a browser answers once: for a passkey, and for a sign-in at the identity
 * provider. Their random values are derived from the challenge's id and the installation's key, so
 * the database stores no value that would help somebody who reads it.
 */
import { createHmac, hkdfSync } from 'node:crypto'
import type { Platform } from '../../../platform.ts'
import * as store from './store.ts'

export type Challenges = ReturnType<typeof challenges>
export type ChallengeKind = store.ChallengeRow['kind']

/** @param parts `installationKey`: 32 secret bytes of this installation */
export function challenges({
  db,
  clock,
  installationKey,
}: Pick<Platform, 'db' | 'clock'> & { installationKey: () => Promise<Uint8Array> }) {
  const key = async () =>
    new Uint8Array(
      hkdfSync('sha256', await installationKey(), new Uint8Array(), 'challenges of sign-ins', 32),
    )
  return {
    /** Returns the id of a new challenge. `more`: what the answer must agree with. */
    begin: (
      kind: ChallengeKind,
      minutes: number,
      more: Partial<Omit<store.ChallengeRow, 'id' | 'kind' | 'expires_at'>> = {},
    ): Promise<string> =>
      store.insert(
        db,
        { kind, expires_at: new Date(clock.now() + minutes * 60_000), ...more },
        new Date(clock.now()),
      ),

    /**
     * Uses up a challenge. Undefined if it was used before, has expired, is of another kind, or was
     * begun in another session or another browser; the challenge of others stays usable for them.
     */
    spend: (
      kind: ChallengeKind,
      id: string,
      {
        sessionId = null,
        browserHash = null,
      }: { sessionId?: string | null; browserHash?: Buffer | null } = {},
    ): Promise<store.ChallengeRow | undefined> =>
      store.spend(db, {
        kind,
        id,
        session_id: sessionId,
        browser_hash: browserHash,
        now: new Date(clock.now()),
      }),

    /**
     * 256 bits as base64url that only this installation can derive, different for each use of each
     * challenge.
     */
    derive: async (use: 'passkey' | 'nonce' | 'verifier', id: string): Promise<string> =>
      createHmac('sha256', await key())
        .update(`${use} ${id}`)
        .digest('base64url'),

    removeOld: () => store.removeOld(db, new Date(clock.now())),
  }
}
