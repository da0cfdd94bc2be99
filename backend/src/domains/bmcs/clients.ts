/**
 * This process's clients of BMCs, one for each, so that a BMC has one session and at most two
 * requests at once. The session is kept sealed: after a restart or a kill it is used again, and
 * another process that speaks to the BMC uses the same one.
 */
import { Problem } from '#contract/errors.ts'
import { redfishClient, type RedfishClient, type SignedIn } from '#redfish/client/client.ts'
import { inTransaction } from '../../db/db.ts'
import type { Platform } from '../../platform.ts'
import { sentBy } from '../../reading/asker.ts'
import type { Accounts } from './accounts.ts'
import type { BmcPolicy } from './policy.ts'
import type { BmcRow } from './store.ts'
import * as store from './store.ts'

export interface Clients {
  /**
   * The client of a BMC whose certificate is confirmed. @throws Problem `dial_refused`,
   * `bmc_not_ready` without a confirmed certificate or an account
   */
  readonly of: (row: BmcRow) => Promise<RedfishClient>
  /**
   * A client that signs in nowhere, for what a BMC tells without that. @param fingerprint the
   * certificate that it has just shown
   */
  readonly unsigned: (row: Pick<BmcRow, 'address' | 'port'>, fingerprint: string) => RedfishClient
  /** The client is not used again, such as after a change of the account. */
  readonly forget: (id: string) => void
  /** Ends the sessions of this process. */
  readonly signOutAll: (signal: AbortSignal) => Promise<void>
}

interface Open {
  readonly key: string
  readonly client: RedfishClient
}

const sameBytes = (a: Uint8Array | null, b: Uint8Array | null): boolean =>
  a === b || (a !== null && b !== null && Buffer.compare(a, b) === 0)

export function clients({
  db,
  read,
  policy,
  accounts,
}: Pick<Platform, 'db' | 'read'> & { policy: BmcPolicy; accounts: Accounts }): Clients {
  const open = new Map<string, Open>()
  const reader =
    (place: string): Parameters<typeof redfishClient>[0]['read'] =>
    async (kind, bytes) =>
      (await read(sentBy(`BMC ${place}`), 'redfish', kind, bytes)) as never
  const demandPlace = ({ address, port }: Pick<BmcRow, 'address' | 'port'>): void => {
    const verdict = policy.check(address, port)
    if (!verdict.ok) throw Problem.of('dial_refused', verdict)
  }

  /** Stores a sign-in. Returns the one of another process, if that was first. */
  const keeper = (id: string, given: Uint8Array | null) => {
    let known = given
    return (now: SignedIn | null): Promise<SignedIn | null> =>
      inTransaction(db, async (tx) => {
        const contact = await store.lockContact(tx, id)
        if (!contact) return null
        const stored = contact.session_sealed
        if (now === null) {
          if (sameBytes(stored, known)) await store.updateContact(tx, id, { session_sealed: null })
          known = null
          return null
        }
        if (stored !== null && !sameBytes(stored, known)) {
          known = stored
          return accounts.openSession(tx, id, stored)
        }
        known = await accounts.sealSession(tx, id, now)
        await store.updateContact(tx, id, { session_sealed: known })
        return null
      })
  }

  return {
    async of(row) {
      demandPlace(row)
      const { id, address, port, fingerprint } = row
      if (fingerprint === null)
        throw new Problem(
          'bmc_not_ready',
          `The certificate of the BMC at ${address} is not confirmed yet`,
        )
      const account = await accounts.of(db, row)
      if (!account)
        throw new Problem(
          'bmc_not_ready',
          `The BMC at ${address} has no user name and password yet`,
        )
      const key = JSON.stringify([address, port, fingerprint, account])
      const known = open.get(id)
      if (known?.key === key) return known.client
      const sealed = (await store.contact(db, id))?.session_sealed ?? null
      const client = redfishClient({
        place: { address, port, fingerprint },
        account,
        read: reader(address),
        signedIn: sealed === null ? null : await accounts.openSession(db, id, sealed),
        onSignedIn: keeper(id, sealed),
      })
      open.set(id, { key, client })
      return client
    },
    unsigned(row, fingerprint) {
      demandPlace(row)
      return redfishClient({
        place: { address: row.address, port: row.port, fingerprint },
        account: { username: '', password: '' },
        read: reader(row.address),
      })
    },
    forget: (id) => void open.delete(id),
    async signOutAll(signal) {
      const all = [...open.values()]
      open.clear()
      await Promise.allSettled(all.map(({ client }) => client.signOut(signal)))
    },
  }
}
