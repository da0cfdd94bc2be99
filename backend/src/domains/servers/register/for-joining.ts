/** What the joining domain asks of servers. */
import type { Db, Tx } from '../../../db/db.ts'
import type { Caller } from '../../../http/caller.ts'
import type { Fleet } from '../../../talos-fleet/fleet.ts'
import type { Reading } from '../../../talos-fleet/reading.ts'
import type { Candidate } from './recognise.ts'
import type { registering, Registration } from './register.ts'
import * as store from '../store.ts'
import { twice } from './twice.ts'

export interface ForJoining {
  /** Whether the known server with this hardware still answers at its own address, while this one answers here: two machines with one UUID. */
  elsewhere: ReturnType<typeof twice>
  /**
   * Registers a machine that has proved to be the one that announced itself, or recognises it. In the caller's transaction, which has locked nothing of servers.
   * @param token name of the join token that it came through
   * @returns null where `elsewhere` has to be asked again, because the hardware became known in between
   */
  join(tx: Tx, caller: Caller, found: Candidate, reading: Reading, options: { datacenterId: string | null; token: string }): Promise<Registration | null>
  /** The server in a cluster that is known by this UUID at this address; null where there is none. */
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
