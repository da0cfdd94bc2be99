/**
 * Interface of servers for capacity commitments. Calls change rows, bump versions and emit
 * `server.updated` in the caller's transaction.
 */
import { capacityOf, computeUnits } from '#contract/capacity.ts'
import type { CapacityCommitment } from '#contract/marketplace/ccs.ts'
import type { Hardware } from '../../db/columns.ts'
import type { Tx } from '../../db/db.ts'
import type { Caller } from '../../http/caller.ts'
import type { Platform } from '../../platform.ts'
import * as store from './store.ts'

/** Largest value of a PostgreSQL integer. */
const mostInteger = 2 ** 31 - 1
const upTo = (most: number, value: number | null): number | null =>
  value !== null && Number.isInteger(value) && value >= 0 && value <= most ? value : null

/** A server's capacity as columns of a commitment. Unknown values are null. */
function measured(hardware: Hardware | null) {
  if (hardware === null)
    return { cores: null, memory_bytes: null, disk_bytes: null, compute_units: null }
  const { cores, memory_bytes, disk_bytes } = capacityOf(hardware)
  return {
    cores: upTo(mostInteger, cores),
    memory_bytes: upTo(Number.MAX_SAFE_INTEGER, memory_bytes),
    disk_bytes: upTo(Number.MAX_SAFE_INTEGER, disk_bytes),
    compute_units: upTo(mostInteger, computeUnits(hardware)),
  }
}

export type CommittableServer = NonNullable<
  Awaited<ReturnType<ReturnType<typeof forCommitments>['lockForCommitment']>>
>

export const forCommitments = ({ clock, tell }: Pick<Platform, 'clock' | 'tell'>) => ({
  /**
   * Locks the row of a server, even of a removed one, until the transaction ends. Always called
   * before the row of a commitment is locked.
   */
  async lockForCommitment(tx: Tx, id: string) {
    const row = await store.lockOne(tx, id)
    return (
      row && {
        id,
        name: row.name,
        isRemoved: row.status === 'deleted',
        measuredAt: row.hardware_at,
        capacity: measured(row.hardware),
      }
    )
  },

  /**
   * Records the commitment that lists show for a server. The server's row must be locked. Safe to
   * repeat.
   */
  async noteCommitment(
    tx: Tx,
    caller: Caller,
    id: string,
    commitment: Pick<CapacityCommitment, 'id' | 'status'> | null,
  ): Promise<void> {
    const row = store.existing(await store.byId(tx, id), id)
    const columns = {
      commitment_id: commitment?.id ?? null,
      commitment_status: commitment?.status ?? null,
    }
    if (
      row.commitment_id === columns.commitment_id &&
      row.commitment_status === columns.commitment_status
    )
      return
    const { version } = await store.update(tx, id, columns, new Date(clock.now()))
    await tell(tx, caller, { name: 'server.updated', object: { kind: 'server', id }, version })
  },
})
