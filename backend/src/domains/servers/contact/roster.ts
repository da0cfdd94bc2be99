import type { Watched } from '../../../talos-fleet/contact.ts'
import type { Entry } from '../present.ts'

/** Servers to keep contact with: all that aren't removed. `live` ones need to be known within seconds. */
export function rosterOf(entries: Iterable<Entry>): Watched[] {
  const watched: Watched[] = []
  for (const { row, contact } of entries) {
    if (row.status === 'deleted') continue
    watched.push({
      id: row.id,
      name: row.name,
      address: row.address,
      uuid: row.uuid,
      serial: row.serial,
      clusterId: row.cluster_id,
      live: row.cluster_id !== null || row.operation_id !== null,
      reachable: row.reachable,
      lastContactAt: contact?.getTime() ?? null,
      fingerprint: row.fingerprint,
      hasHardware: row.hardware !== null,
      stage: row.stage,
    })
  }
  return watched
}
