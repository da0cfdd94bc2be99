/** Interface of servers for the joining domain. */
import type { Db, Tx } from '../../../db/db.ts'
import type { Caller } from '../../../http/caller.ts'
import type { Fleet } from '../../../talos-fleet/fleet.ts'
import type { Reading } from '../../../talos-fleet/reading.ts'
import type { Candidate } from './recognise.ts'
import type { registering, Registration } from './register.ts'
import * as store from '../store.ts'
import { twice } from './twice.ts'

export interface ForJoining {
  /** Whether the known server with this hardware still answers at its own address: then two machines share one UUID. */
  elsewhere: ReturnType<typeof twice>
  /**
   * Registers or recognises a machine that has proved its announcement. The caller's transaction must not have locked server rows.
   * @param token name of its join token
   * @returns null if `elsewhere` must be called again, because the hardware became known in between
   */
  join(tx: Tx, caller: Caller, found: Candidate, reading: Reading, options: { datacenterId: string | null; token: string }): Promise<Registration | null>
  /** The server of a cluster with this UUID and address, or null. */
  memberAt(on: Db | Tx, uuid: string, address: string): Promise<{ id: string; name: string; cluster_name: string } | null>
}

export const forJoining = ({ db, fleet, register }: { db: Db; fleet: Fleet; register: ReturnType<typeof registering> }): ForJoining => ({
  elsewhere: twice({ db, fleet }),
  join: (tx, caller, found, reading, { datacenterId, token }) => register(tx, caller, found, reading, { datacenterId, token }),
  async memberAt(on, uuid, address) {
    const row = await store.liveByUuid(on, uuid)
    return row?.cluster_name && row.address === address ? { id: row.id, name: row.name, cluster_name: row.cluster_name } : null
  },
})
