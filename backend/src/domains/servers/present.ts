/** Converts a row to the contract's server. */
import { capacityOf } from '#contract/capacity.ts'
import type { FilterReaders, SortReaders } from '#contract/list.ts'
import { parseAddress } from '#contract/network/addresses.ts'
import type { Disk } from '#contract/servers/disks.ts'
import type { Eligibility, Resources, Server, serverList } from '#contract/servers/server.ts'
import { contactStateOf } from '#contract/servers/server-trouble.ts'
import { talosContent } from '#talos/client/disk-content.ts'
import { eligibility } from './eligibility.ts'
import type { ServerFacts, Wanted } from './for-clusters.ts'
import { linkOf } from './hardware.ts'
import type { ServerRow } from './store.ts'

const none: Resources = { node_addresses: [], processors: [], memory: [], disks: [], interfaces: [] }

const addressesOf = (row: ServerRow): string[] => (row.hardware ? [...row.hardware.addresses] : [row.address])

function resourcesOf(row: ServerRow): Resources {
  if (!row.hardware) return { ...none, node_addresses: addressesOf(row) }
  const { processors, memory, interfaces } = row.hardware
  // The installed version is known only from the running Talos.
  const versioned = (d: Disk): Disk =>
    `/dev/${d.id}` === row.system_disk && d.content === talosContent && row.talos_version !== null
      ? { ...d, content: `${talosContent} ${row.talos_version}` }
      : d
  return { node_addresses: addressesOf(row), processors, memory, disks: row.hardware.disks.map(versioned), interfaces }
}

export function factsOf(row: ServerRow, contact: Date | null): ServerFacts {
  const systemDisk = row.system_disk
  return {
    id: row.id,
    name: row.name,
    version: row.version,
    status: row.status,
    datacenter_id: row.datacenter_id,
    cluster: row.cluster_id && row.cluster_name ? { id: row.cluster_id, name: row.cluster_name } : null,
    operation_id: row.operation_id,
    uuid: row.uuid,
    serial: row.serial,
    identity: row.identity_state,
    address: row.address,
    link: linkOf(row.hardware, row.address)?.name ?? null,
    addresses: row.hardware ? row.hardware.links.flatMap((l) => l.addresses) : [row.address],
    links: row.hardware?.links ?? [],
    disks: (row.hardware?.disks ?? []).map((d) => ({
      ...d,
      device: `/dev/${d.id}`,
      size: d.size ?? null,
      type: d.type ?? null,
      wwid: d.wwid ?? null,
      system: `/dev/${d.id}` === systemDisk,
    })),
    memory_bytes: row.hardware ? capacityOf(row.hardware).memory_bytes : null,
    talos_version: row.talos_version,
    installed_version: systemDisk ? row.talos_version : null,
    system_disk: systemDisk,
    schematic: row.schematic,
    secure_boot: row.secure_boot ?? false,
    reachable: row.reachable,
    last_contact_at: contact,
    has_user_patch: row.patch_count > 0,
    patch_links: row.patch_links,
    hardware: row.hardware,
    stage: row.stage,
    reason: row.reason,
  }
}

const eligibilityOf = (row: ServerRow, wanted?: Wanted): Eligibility[] => eligibility(factsOf(row, null), wanted)

/** Why the last contact failed, or the machine's unmet conditions. */
function reasonOf(row: ServerRow): string | null {
  if (row.reachable === false || row.unmet.length === 0) return row.reason
  return row.unmet.map((u) => `${u.name}: ${u.reason}`).join('; ')
}

export const contactOf = (row: ServerRow): Pick<Server['talos'], 'reachable' | 'unreachable_since' | 'reason'> => ({
  reachable: row.reachable,
  unreachable_since: row.unreachable_since?.toISOString() ?? null,
  reason: reasonOf(row),
})

export const nodeOf = (row: ServerRow): Server['kubernetes'] =>
  row.node_since === null ? null : { ready: row.node_ready, reason: row.node_reason, since: row.node_since.toISOString() }

const driftOf = (row: ServerRow): Server['drift'] =>
  row.drift_since === null || row.drift_seen === null ? null : { since: row.drift_since.toISOString(), seen: row.drift_seen }

export function present(row: ServerRow, contact: Date | null): Server {
  return {
    id: row.id,
    name: row.name,
    status: row.status,
    type: row.type,
    nodeAddresses: addressesOf(row),
    resources: resourcesOf(row),
    datacenter: row.datacenter_id && row.datacenter_code ? { id: row.datacenter_id, code: row.datacenter_code } : null,
    cluster: row.cluster_id && row.cluster_name ? { id: row.cluster_id, name: row.cluster_name } : null,
    capacity_commitment: null,
    talos: {
      version: row.talos_version,
      schematic: row.schematic,
      installed: row.system_disk !== null && row.talos_version !== null ? { version: row.talos_version, disk: row.system_disk } : null,
      stage: row.stage,
      last_contact_at: contact?.toISOString() ?? null,
      ...contactOf(row),
    },
    kubernetes: nodeOf(row),
    identity: {
      state: row.identity_state,
      uuid: row.uuid,
      serial: row.serial,
      fingerprint: row.fingerprint,
      since: row.identity_since.toISOString(),
      seen: row.identity_state === 'changed' && row.seen_uuid !== null ? { uuid: row.seen_uuid, serial: row.seen_serial ?? '' } : null,
      note: row.identity_note,
    },
    hardware: { maker: row.manufacturer || null, model: row.product || null, disk_bytes: row.hardware && capacityOf(row.hardware).disk_bytes },
    eligibility: eligibilityOf(row),
    drift: driftOf(row),
    operation_id: row.operation_id,
    version: row.version,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  }
}

/** A server in memory, with the time of its last contact. */
export interface Entry {
  readonly row: ServerRow
  readonly contact: Date | null
}

/** v1.9.0 comes before v1.13.0. */
const versionKey = (version: string | null): number | null =>
  version === null ? null : (version.match(/\d+/g) ?? []).slice(0, 3).reduce((key, part) => key * 1000 + Number(part), 0)
/** In the order of numbers, IPv4 before IPv6. */
function addressKey(text: string | undefined): string | null {
  const address = text === undefined ? null : parseAddress(text)
  return address && `${address.family}${address.value.toString(16).padStart(32, '0')}`
}

/** Sort keys of the server list. */
export const sortReaders: SortReaders<typeof serverList.list, Entry> = {
  name: ({ row }) => row.name,
  datacenter: ({ row }) => row.datacenter_code,
  cluster: ({ row }) => row.cluster_name,
  type: ({ row }) => row.type,
  status: ({ row }) => row.status,
  stage: ({ row }) => row.stage,
  maker: ({ row }) => row.manufacturer || null,
  model: ({ row }) => row.product || null,
  serial: ({ row }) => row.serial,
  cores: ({ row }) => row.hardware && capacityOf(row.hardware).cores,
  memory: ({ row }) => row.hardware && capacityOf(row.hardware).memory_bytes,
  disks: ({ row }) => row.hardware && capacityOf(row.hardware).disk_bytes,
  address: ({ row }) => addressKey(addressesOf(row)[0]),
  talos_version: ({ row }) => versionKey(row.talos_version),
  contact: ({ contact }) => contact?.getTime() ?? null,
  created_at: ({ row }) => row.created_at.getTime(),
}

const contactStates = { true: 'answers', false: 'unreachable', away: 'away' } as const

/** Filters of the server list. `now` in ms since the epoch. */
export const filterReaders = <E extends Entry>(now: number, isEligible: (entry: E) => boolean): FilterReaders<typeof serverList.list, E> => ({
  status: ({ row }, status) => row.status === status,
  nodeType: ({ row }, type) => row.type === type,
  datacenter: ({ row }, wanted) => row.datacenter_code === wanted || row.datacenter_id === wanted,
  cluster: ({ row }, wanted) => row.cluster_name === wanted || row.cluster_id === wanted,
  reachable: ({ row }, wanted) => contactStateOf({ status: row.status, operation_id: row.operation_id, talos: contactOf(row) }, now) === contactStates[wanted],
  confirmed: ({ row }, wanted) => String(row.identity_state === 'confirmed') === wanted,
  stage: ({ row }, wanted) => row.stage === wanted,
  eligible: (entry, wanted) => String(isEligible(entry)) === wanted,
})

/** The audited fields of a server, without hardware. */
export function audited(row: ServerRow): object {
  return {
    name: row.name,
    status: row.status,
    type: row.type,
    datacenter: row.datacenter_code,
    cluster: row.cluster_name,
    address: row.address,
    identity: { state: row.identity_state, uuid: row.uuid, serial: row.serial, note: row.identity_note },
  }
}
