/** Where servers stand in the racks of their datacenter. The domain of the racks decides that. */
import { placementSaid } from '#contract/racks/placement.ts'
import { happened } from '../../history.ts'
import type { Platform } from '../../platform.ts'
import type { Placements, Standing } from './api.ts'
import type { Catalogue } from './list/catalogue.ts'
import { noPlace, placementOf, placementText } from './places.ts'
import { missing } from './store.ts'
import * as store from './store-places.ts'

const standing = (row: Omit<store.PlacedRow, 'operation_id'>): Standing => ({
  id: row.id,
  name: row.name,
  serial: row.serial,
  datacenter_id: row.datacenter_id,
  version: row.version,
  placement: placementOf(row),
  role: row.type,
  cluster: clusterOf(row),
  finding: row.finding,
})
const clusterOf = (row: Pick<store.PlacedRow, 'cluster_id' | 'cluster_name'>) =>
  row.cluster_id !== null && row.cluster_name !== null
    ? { id: row.cluster_id, name: row.cluster_name }
    : null

export const placing = ({
  clock,
  record,
  tell,
  listed,
}: Pick<Platform, 'clock' | 'record' | 'tell'> & {
  readonly listed: Pick<Catalogue, 'entries'>
}): Placements => ({
  async standing() {
    const all: Standing[] = []
    for (const { row } of await listed.entries())
      if (row.status !== 'deleted') all.push(standing(row))
    return all
  },

  standingIn: async (on, rackId) => (await store.inRack(on, rackId)).map(standing),
  lockStanding: async (tx, ids) => (await store.lock(tx, ids)).map(standing),

  async place(tx, caller, moves) {
    const ids = moves.map(({ id }) => id)
    const before = new Map((await store.lock(tx, ids)).map((row) => [row.id, row]))
    const columns = moves.map(({ id, to }) => ({
      id,
      ...(to === null
        ? noPlace
        : {
            rack_id: to.rack.id,
            rack_unit: to.unit,
            rack_height: to.height,
            rack_face: to.face,
            rack_bay: to.bay,
            rack_units: to.rack.units,
          }),
    }))
    const versions = await store.write(tx, columns, new Date(clock.now()))
    const changes = moves.map(({ id, to }) => {
      const row = before.get(id)
      if (!row) throw missing(id)
      const { name } = row
      return {
        row,
        from: placementText(row),
        target: { kind: 'server' as const, id, name },
        to: to && placementSaid(to),
        version: versions.get(id)!,
      }
    })
    happened(
      tx,
      ...changes.map(({ row, target, from, to }) => ({
        kind: 'server_rack' as const,
        object: target,
        cluster: clusterOf(row),
        operation: row.operation_id,
        before: { placement: from },
        after: { placement: to },
      })),
    )
    await record(
      tx,
      caller,
      changes.map(({ target, from, to, version }) => ({
        action: to === null ? ('server.unplaced' as const) : ('server.placed' as const),
        target,
        before: { placement: from },
        after: { placement: to },
        event: { name: 'server.updated' as const, version },
      })),
    )
    return versions
  },

  async rackRenamed(tx, caller, { id: rackId, from, to }) {
    const rows = await store.inRack(tx, rackId)
    const ids = rows.map(({ id }) => id)
    await store.lock(tx, ids)
    happened(
      tx,
      ...rows.map((row) => ({
        kind: 'server_rack' as const,
        object: { kind: 'server' as const, id: row.id, name: row.name },
        cluster: clusterOf(row),
        before: { placement: placementText({ ...row, rack_name: from }) },
        after: { placement: placementText({ ...row, rack_name: to }) },
      })),
    )
    const versions = await store.touchInRack(tx, rackId, new Date(clock.now()))
    await tell(
      tx,
      caller,
      versions.map(({ id, version }) => ({
        name: 'server.updated' as const,
        object: { kind: 'server' as const, id },
        version,
      })),
    )
  },
})
