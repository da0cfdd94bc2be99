/** What capacity commitments read and write of servers. */
import { capacityOf, computeUnits } from '#contract/capacity.ts'
import type { Hardware } from '../../db/columns.ts'
import type { Platform } from '../../platform.ts'
import type { Servers } from './api.ts'
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

export const commitments = ({
  clock,
  tell,
}: Pick<Platform, 'clock' | 'tell'>): Pick<Servers, 'lockForCommitment' | 'noteCommitment'> => ({
  async lockForCommitment(tx, id) {
    const row = await store.lockOne(tx, id)
    return (
      row && {
        id,
        name: row.name,
        version: row.version,
        isRemoved: row.status === 'deleted',
        measuredAt: row.hardware_at,
        capacity: measured(row.hardware),
      }
    )
  },

  async noteCommitment(tx, caller, id, commitment) {
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
