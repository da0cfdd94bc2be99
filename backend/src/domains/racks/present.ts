/** Converts a rack and the servers in it to the contract's rack. */
import { findingSeverities, worstOf } from '#contract/findings/kinds.ts'
import type { MemoryReaders } from '#contract/list.ts'
import { freeUnits, naturalKey } from '#contract/racks/placing.ts'
import type { Rack, rackList } from '#contract/racks/racks.ts'
import type { Standing } from '../servers/api.ts'
import type { RackRow } from './store.ts'

/** The clusters that have several control planes among these servers. */
function sharing(servers: readonly Standing[]): Rack['shared_by'] {
  const controlPlanes = servers.flatMap(({ role, cluster }) =>
    role === 'control_plane' && cluster !== null ? [cluster] : [],
  )
  return [...Map.groupBy(controlPlanes, ({ id }) => id).values()]
    .filter((those) => those.length > 1)
    .map((those) => ({ ...those[0]!, control_planes: those.length }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

const gravity = ({ severity }: { readonly severity: (typeof findingSeverities)[number] }): number =>
  findingSeverities.indexOf(severity)

export const present = (row: RackRow, servers: readonly Standing[]): Rack => ({
  id: row.id,
  name: row.name,
  datacenter: { id: row.datacenter_id, code: row.datacenter_code },
  units: row.units,
  servers: servers.length,
  free_units: freeUnits(
    row.units,
    servers.flatMap(({ placement }) => (placement === null ? [] : [placement])),
  ),
  finding: worstOf(servers.map(({ finding }) => finding)),
  shared_by: sharing(servers),
  version: row.version,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})

/** The audited fields of a rack. */
export const audited = ({ name, units, datacenter_code: datacenter }: RackRow): object => ({
  name,
  units,
  datacenter,
})

/** The racks with a finding first, the worst of all at the top. */
function statusKey({ finding, shared_by }: Rack): number {
  if (finding !== null) return gravity(finding)
  return findingSeverities.length + (shared_by.length > 0 ? 0 : 1)
}

/** Whether a search finds the rack. @param wanted in lower case */
export const hasName = ({ name }: Pick<RackRow, 'name'>, wanted: string): boolean =>
  name.toLowerCase().includes(wanted)

export const readers: MemoryReaders<typeof rackList.list, Rack> = {
  sort: {
    name: (rack) => naturalKey(rack.name),
    datacenter: (rack) => rack.datacenter.code,
    status: statusKey,
    servers: (rack) => rack.servers,
    free: (rack) => rack.free_units,
    units: (rack) => rack.units,
  },
  filters: {
    datacenter: ({ datacenter }, wanted) => datacenter.code === wanted || datacenter.id === wanted,
  },
  search: hasName,
  ties: [(rack) => naturalKey(rack.name), (rack) => rack.datacenter.code, (rack) => rack.id],
}
