/** Where servers stand in the racks of their datacenter. The domain of the racks decides that. */
import { naturalKey, type Placement, placementSaid } from '#contract/racks/placing.ts'
import { happened } from '../../history.ts'
import type { Platform } from '../../platform.ts'
import type { Placements, Standing } from './api.ts'
import type { Catalogue } from './list/catalogue.ts'
import { missing } from './store.ts'
import * as store from './store-places.ts'

/** The columns of a server that stands in no rack. */
export const noPlace = {
  rack_id: null,
  rack_unit: null,
  rack_height: null,
  rack_face: null,
  rack_units: null,
} as const

type Placed = Pick<
  store.PlacedRow,
  'rack_id' | 'rack_name' | 'rack_unit' | 'rack_height' | 'rack_face'
>

export function placementOf(row: Placed): Placement | null {
  const { rack_id: id, rack_unit: unit, rack_height: height, rack_face: face } = row
  return id === null || unit === null || height === null || face === null
    ? null
    : { rack: { id, name: row.rack_name ?? '' }, unit, height, face }
}

/** "A-07, units 12 to 13"; null if the server stands in no rack. */
export function placementText(row: Placed): string | null {
  const placement = placementOf(row)
  return placement && placementSaid(placement)
}

/** Sort key: by rack, and from below in each. */
export const placeKey = ({ rack_name: name, rack_unit: unit }: Placed): string | null =>
  name === null ? null : `${naturalKey(name)} ${String(unit).padStart(2, '0')}`

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
