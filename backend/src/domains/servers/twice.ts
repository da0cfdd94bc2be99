/** One UUID at two addresses: a machine that moved, or two machines. Real boards are sold with one UUID for all. */
import { TalosError } from '#talos/client/errors.ts'
import type { Db } from '../../db/db.ts'
import { type Fleet, type Found, OtherHardware } from '../../talos-fleet/fleet.ts'
import * as store from './store.ts'

/** An address that nobody uses answers nothing at all: this is how long it is waited for. */
export const probeDeadlineMs = 5_000

/** Whether the known server with the found UUID still answers where it is known, by another key than the one that was just seen. */
export const twice =
  ({ db, fleet }: { db: Db; fleet: Fleet }) =>
  async (address: string, found: Found, signal: AbortSignal): Promise<boolean> => {
    const known = await store.liveByUuid(db, found.identity.uuid)
    if (!known || known.address === address || known.serial !== found.identity.serial) return false
    try {
      const options = { signal, deadlineMs: probeDeadlineMs, lane: 'probe' } as const
      return await fleet.connection(known).maintenance((_, pin) => Promise.resolve(pin.fingerprint !== found.pin.fingerprint), options)
    } catch (error) {
      // Silent there, or something else answers there: either way it isn't the same hardware at both.
      if (error instanceof TalosError || error instanceof OtherHardware) return false
      throw error
    }
  }
