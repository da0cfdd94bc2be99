/** Handles one UUID at two addresses: a moved machine, or two machines, because some boards ship with the same UUID. */
import { Problem } from '#contract/errors.ts'
import { TalosError } from '#talos/client/errors.ts'
import type { Db } from '../../../db/db.ts'
import { type Fleet, type Found, OtherHardware } from '../../../talos-fleet/fleet.ts'
import * as store from '../store.ts'

/** Limit of a probe of a silent address, in ms. */
export const probeDeadlineMs = 5_000

/** Where the found hardware was known when this was asked, null where nowhere else, and whether something answers there by another key than the one that was just seen. */
export interface Elsewhere {
  readonly address: string | null
  readonly answers: boolean
}

export const twice =
  ({ db, fleet }: { db: Db; fleet: Fleet }) =>
  async (address: string, found: Found, signal: AbortSignal): Promise<Elsewhere> => {
    const known = await store.liveByUuid(db, found.identity.uuid)
    if (!known || known.address === address || (known.serial !== null && known.serial !== found.identity.serial)) return { address: null, answers: false }
    try {
      const options = { signal, deadlineMs: probeDeadlineMs, lane: 'probe' } as const
      const answers = await fleet.connection(known).maintenance((_, pin) => Promise.resolve(pin.fingerprint !== found.pin.fingerprint), options)
      return { address: known.address, answers }
    } catch (error) {
      // No answer or another machine: the hardware is not at both addresses. The same holds for an address that may not be dialled.
      const isRefused = error instanceof Problem && error.code === 'dial_refused'
      if (error instanceof TalosError || error instanceof OtherHardware || isRefused) return { address: known.address, answers: false }
      throw error
    }
  }
