/** Converts a row to the contract's server. */
import { capacityOf } from '#contract/capacity.ts'
import { selectorOf, selects } from '#contract/labels/selector.ts'
import { type FilterReaders, noValue, type SortReaders } from '#contract/list.ts'
import { parseAddress } from '#contract/network/addresses.ts'
import type { Disk } from '#contract/disks/disks.ts'
import type { Resources, Server, serverList } from '#contract/servers/server.ts'
import type { WorstFinding } from '#contract/findings/findings.ts'
import { kindsOfFindings } from '#contract/findings/kinds.ts'
import type { Said } from '#contract/findings/findings.ts'
import { serverSaid } from '#contract/findings/said.ts'
import { contactStateOf } from '#contract/servers/contact-state.ts'
import { silenceReason, silentAfter } from '#contract/servers/silence.ts'
import { versionKey } from '#contract/versions.ts'
import { talosContent } from '#talos/client/disk-content.ts'
import type { Hardware, HardwareLink } from '../../db/columns.ts'
import { eligibility } from './eligibility.ts'
import type { FailedInstalls, PlannedDisk, ServerFacts } from './facts.ts'
import { placeKey, placementOf, placementText } from './places.ts'
import type { ListedRow, ServerRow } from './store.ts'

const unknownCapacity = { cores: null, memory_bytes: null, disk_bytes: null }
const none: Resources = {
  node_addresses: [],
  processors: [],
  memory: [],
  disks: [],
  interfaces: [],
}

const addressesOf = (row: ServerRow): string[] => {
  if (row.stage === 'not_booted') return []
  return row.hardware ? [...row.hardware.addresses] : [row.address]
}

function resourcesOf(row: ServerRow): Resources {
  if (!row.hardware) return { ...none, node_addresses: addressesOf(row) }
  const { processors, memory, interfaces } = row.hardware
  // The installed version is known only from the running Talos.
  const versioned = (d: Disk): Disk =>
    `/dev/${d.id}` === row.system_disk && d.content === talosContent && row.talos_version !== null
      ? { ...d, content: `${talosContent} ${row.talos_version}` }
      : d
  return {
    node_addresses: addressesOf(row),
    processors,
    memory,
    disks: row.hardware.disks.map(versioned),
    interfaces,
  }
}

/** The link that has the address, if known. */
const linkOf = (hardware: Hardware | null, address: string): HardwareLink | undefined =>
  hardware?.links.find((l) => l.addresses.some((a) => a.split('/', 1)[0] === address))

export const failedInstallsOf = ({
  failed_installs: count,
  install_failed_at: at,
  install_failure: reason,
}: Pick<
  ListedRow,
  'failed_installs' | 'install_failed_at' | 'install_failure'
>): FailedInstalls | null =>
  count === 0 || at === null ? null : { count, since: at.toISOString(), reason }

export function factsOf(row: ServerRow, contact: Date | null): ServerFacts {
  const { hardware, system_disk } = row
  return {
    id: row.id,
    name: row.name,
    version: row.version,
    status: row.status,
    datacenter_id: row.datacenter_id,
    cluster:
      row.cluster_id && row.cluster_name ? { id: row.cluster_id, name: row.cluster_name } : null,
    operation_id: row.operation_id,
    uuid: row.uuid,
    serial: row.serial,
    identity: row.identity_state,
    address: row.address,
    link: linkOf(hardware, row.address)?.name ?? null,
    addresses: hardware ? hardware.links.flatMap((l) => l.addresses) : [row.address],
    links: hardware?.links ?? [],
    disks: (hardware?.disks ?? []).map((d): PlannedDisk => ({
      ...d,
      device: `/dev/${d.id}`,
      size: d.size ?? null,
      type: d.type ?? null,
      wwid: d.wwid ?? null,
      system: `/dev/${d.id}` === system_disk,
    })),
    memory_bytes: hardware ? capacityOf(hardware).memory_bytes : null,
    talos_version: row.talos_version,
    installed_version: system_disk ? row.talos_version : null,
    system_disk,
    schematic: row.schematic,
    secure_boot: row.secure_boot ?? false,
    reachable: row.reachable,
    last_contact_at: contact,
    has_user_patch: row.patch_count > 0,
    patch_links: row.patch_links,
    hardware,
    stage: row.stage,
    reason: row.reachable === false ? reasonOf(row) : row.reason,
    silence: silentAfter(silenceOf(row), row.last_change) === null ? null : reasonOf(row),
    node_ready: row.node_ready,
    pending: row.pending?.reason ?? null,
    failed_installs: failedInstallsOf(row),
    drift_since: row.drift_since,
    quarantine: row.quarantine,
    placement: placementOf(row),
  }
}

const silenceOf = (row: ListedRow) => ({
  reachable: row.reachable,
  unreachable_since: row.unreachable_since?.toISOString() ?? null,
  reason: row.reason,
})

/** Why the last contact failed, or the machine's unmet conditions. */
function reasonOf(row: ListedRow): string | null {
  if (row.reachable === false) return silenceReason(silenceOf(row), row.last_change)
  if (row.unmet.length === 0) return row.reason
  return row.unmet.map((u) => `${u.name}: ${u.reason}`).join('; ')
}

export const contactOf = (
  row: ListedRow,
): Pick<Server['talos'], 'reachable' | 'unreachable_since' | 'reason' | 'silent_after'> => ({
  ...silenceOf(row),
  reason: reasonOf(row),
  silent_after: silentAfter(silenceOf(row), row.last_change),
})

export const nodeOf = (row: ListedRow): Server['kubernetes'] =>
  row.node_since === null
    ? null
    : { ready: row.node_ready, reason: row.node_reason, since: row.node_since.toISOString() }

const driftOf = (row: ServerRow): Server['drift'] =>
  row.drift_since === null || row.drift_seen === null
    ? null
    : { since: row.drift_since.toISOString(), seen: row.drift_seen }

/** Why the server failed, without its own name at the start: it stands beside the name. */
export function failureOf({ name, failed_at, failure }: ListedRow): Server['failure'] {
  if (failed_at === null) return null
  const reason = failure?.startsWith(`${name} `) ? failure.slice(name.length + 1) : failure
  return { reason, since: failed_at.toISOString() }
}

export const trialOf = (
  row: Pick<ServerRow, 'trial_state' | 'trial_reason' | 'trial_since'>,
): Server['trial'] =>
  row.trial_state === null || row.trial_reason === null || row.trial_since === null
    ? null
    : { state: row.trial_state, reason: row.trial_reason, since: row.trial_since.toISOString() }

/** What is said of a server in lists, in the overview and in the metrics. */
export const saidOf = (row: ListedRow, ineligible: string | null = null): Said =>
  serverSaid({
    status: row.status,
    cluster:
      row.cluster_id && row.cluster_name ? { id: row.cluster_id, name: row.cluster_name } : null,
    ineligible,
    kubernetes: nodeOf(row),
    trial: trialOf(row),
    finding: row.finding,
    quarantine: row.quarantine,
    talos: { stage: row.stage, ...contactOf(row) },
    identity: { state: row.identity_state },
  })

/** Its power as its BMC has told it; null without a BMC. */
export const powerOf = ({ bmc_id, power, power_since }: ListedRow): Server['power'] =>
  bmc_id === null
    ? null
    : { bmc_id, state: power ?? 'unknown', since: power_since?.toISOString() ?? null }

/** The whole server. Lists with `fields=list` show some of its fields (`list/kept.ts`). */
export function present(row: ServerRow, contact: Date | null): Server {
  const { hardware } = row
  const { cores, memory_bytes, disk_bytes } = hardware ? capacityOf(hardware) : unknownCapacity
  const checks = eligibility(factsOf(row, null))
  const failed = checks.find((one) => !one.ok)
  const ineligible = failed ? (failed.reason ?? `The check ${failed.check} failed`) : null
  return {
    id: row.id,
    name: row.name,
    status: row.status,
    type: row.type,
    nodeAddresses: addressesOf(row),
    datacenter:
      row.datacenter_id && row.datacenter_code
        ? { id: row.datacenter_id, code: row.datacenter_code }
        : null,
    placement: placementOf(row),
    cluster:
      row.cluster_id && row.cluster_name ? { id: row.cluster_id, name: row.cluster_name } : null,
    capacity_commitment:
      row.commitment_id && row.commitment_status
        ? { id: row.commitment_id, status: row.commitment_status }
        : null,
    kubernetes: nodeOf(row),
    hardware: {
      maker: row.manufacturer || null,
      model: row.product || null,
      cores,
      memory_bytes,
      disk_bytes,
    },
    ineligible,
    drift: driftOf(row),
    pending: row.cluster_id === null ? null : row.pending,
    trial: trialOf(row),
    failure: failureOf(row),
    said: saidOf(row, ineligible),
    finding: row.finding,
    left_cluster: row.cluster_id === null ? row.left_cluster : null,
    labels: row.labels,
    quarantine: row.quarantine,
    power: powerOf(row),
    operation_id: row.operation_id,
    created_at: row.created_at.toISOString(),
    talos: {
      version: row.talos_version,
      stage: row.stage,
      last_contact_at: contact?.toISOString() ?? null,
      ...contactOf(row),
      schematic: row.schematic,
      installed:
        row.system_disk !== null && row.talos_version !== null
          ? { version: row.talos_version, disk: row.system_disk }
          : null,
    },
    identity: {
      state: row.identity_state,
      uuid: row.uuid,
      serial: row.serial,
      seen: row.seen_uuid !== null ? { uuid: row.seen_uuid, serial: row.seen_serial ?? '' } : null,
      fingerprint: row.fingerprint,
      since: row.identity_since.toISOString(),
      note: row.identity_note,
    },
    resources: resourcesOf(row),
    eligibility: checks,
    notes: row.notes,
    version: row.version,
    updated_at: row.updated_at.toISOString(),
  }
}

/** Whether a user has to decide which machine the server is. */
export const isDoubted = ({
  identity_state,
  seen_uuid,
}: Pick<ListedRow, 'identity_state' | 'seen_uuid'>): boolean =>
  identity_state !== 'confirmed' || seen_uuid !== null

/** A server in memory, with the time of its last contact. */
export interface Entry {
  readonly row: ListedRow
  readonly contact: Date | null
  /** Derived from the hardware. */
  readonly facts: {
    readonly hasHardware: boolean
    /** As the API shows them. */
    readonly addresses: readonly string[]
    /** All addresses of its links, without prefix. */
    readonly linkAddresses: readonly string[]
    /** Null if the hardware is unknown. */
    readonly capacity: ReturnType<typeof capacityOf> | null
    readonly computeUnits: number | null
    /** It can join a cluster now. */
    readonly isEligible: boolean
  }
}

/** Sort key of an address: numerical order, IPv4 before IPv6. */
export function addressKey(text: string | undefined): string | null {
  const address = text === undefined ? null : parseAddress(text)
  return address && `${address.family}${address.value.toString(16).padStart(32, '0')}`
}

/** By model, and servers of one model by their cores. Null if both are unknown. */
function hardwareKey({ row, facts }: Entry): string | null {
  const cores = facts.capacity?.cores ?? null
  if (!row.product && cores === null) return null
  return `${row.product ?? ''} ${String(cores ?? 0).padStart(6, '0')}`
}

/** What is said of a server without a finding, the first that needs a user first. */
const statuses = ['trial', 'to confirm', 'maintenance', 'ready', 'deleted'] as const
interface Ranked {
  readonly status: Server['status'] | null
  readonly finding: Pick<WorstFinding, 'kind'> | null
  readonly isOnTrial: boolean
  readonly isConfirmed: boolean
}
/** The rank of a server in the order of what is said of it. */
export function statusRank({ status, finding, isOnTrial, isConfirmed }: Ranked): number {
  if (finding !== null && status !== 'deleted') return kindsOfFindings.indexOf(finding.kind)
  const word =
    status === 'ready' && isOnTrial
      ? 'trial'
      : status === 'maintenance' && !isConfirmed
        ? 'to confirm'
        : (status ?? 'deleted')
  return kindsOfFindings.length + statuses.indexOf(word)
}
const statusKey = ({ status, finding, trial_state, identity_state }: ListedRow): number =>
  statusRank({
    status,
    finding,
    isOnTrial: trial_state !== null,
    isConfirmed: identity_state === 'confirmed',
  })

/** Sort keys of the server list. */
export const sortReaders: SortReaders<typeof serverList.list, Entry> = {
  name: ({ row }) => row.name,
  hardware: hardwareKey,
  datacenter: ({ row }) => row.datacenter_code,
  rack: ({ row }) => placeKey(row),
  cluster: ({ row }) => row.cluster_name,
  cc: ({ row }) => row.commitment_status,
  type: ({ row }) => row.type,
  status: ({ row }) => statusKey(row),
  stage: ({ row }) => row.stage,
  power: ({ row }) => (row.bmc_id === null ? null : (row.power ?? 'unknown')),
  maker: ({ row }) => row.manufacturer || null,
  model: ({ row }) => row.product || null,
  serial: ({ row }) => row.serial,
  cores: ({ facts }) => facts.capacity?.cores ?? null,
  memory: ({ facts }) => facts.capacity?.memory_bytes ?? null,
  disks: ({ facts }) => facts.capacity?.disk_bytes ?? null,
  address: ({ facts }) => addressKey(facts.addresses[0]),
  talos_version: ({ row }) => versionKey(row.talos_version),
  contact: ({ contact }) => contact?.getTime() ?? null,
  created_at: ({ row }) => row.created_at.getTime(),
}

const contactStates = { true: 'answers', false: 'unreachable', away: 'away' } as const

/** The selector that was parsed last: a list asks it of every server. */
let last: { readonly text: string; readonly selector: ReturnType<typeof selectorOf> } | undefined
export function selectorIn(text: string): NonNullable<ReturnType<typeof selectorOf>> {
  if (last?.text !== text) last = { text, selector: selectorOf(text) }
  return last.selector!
}

/** Whether an object is the one that a filter names, or is missing if the filter says so. */
const isNamed = (wanted: string, id: string | null, name: string | null): boolean =>
  wanted === noValue ? id === null : id !== null && (name === wanted || id === wanted)

/** Filters of the server list. `now` in ms since the epoch. */
export const filterReaders = (now: number): FilterReaders<typeof serverList.list, Entry> => ({
  status: ({ row }, status) => row.status === status,
  nodeType: ({ row }, type) => row.type === type,
  datacenter: ({ row }, wanted) => isNamed(wanted, row.datacenter_id, row.datacenter_code),
  rack: ({ row }, wanted) => isNamed(wanted, row.rack_id, row.rack_name),
  cluster: ({ row }, wanted) => isNamed(wanted, row.cluster_id, row.cluster_name),
  finding: ({ row }, wanted) => (row.finding?.kind ?? noValue) === wanted,
  reachable: ({ row }, wanted) =>
    contactStateOf({ operation_id: row.operation_id, talos: contactOf(row) }, now) ===
    contactStates[wanted],
  confirmed: ({ row }, wanted) => String(!isDoubted(row)) === wanted,
  cc: ({ row }, wanted) => (row.commitment_status ?? noValue) === wanted,
  stage: ({ row }, wanted) => row.stage === wanted,
  power: ({ row }, wanted) => (row.bmc_id === null ? noValue : (row.power ?? 'unknown')) === wanted,
  eligible: ({ facts }, wanted) => String(facts.isEligible) === wanted,
  label: ({ row }, wanted) => selects(selectorIn(wanted), row.labels),
  quarantine: ({ row }, wanted) => String(row.quarantine !== null) === wanted,
})

/** The audited fields of a server, without hardware. */
export function audited(row: ServerRow): object {
  return {
    name: row.name,
    status: row.status,
    type: row.type,
    datacenter: row.datacenter_code,
    ...(row.rack_id !== null && { placement: placementText(row) }),
    cluster: row.cluster_name,
    address: row.address,
    labels: row.labels,
    quarantine: row.quarantine,
    identity: {
      state: row.identity_state,
      uuid: row.uuid,
      serial: row.serial,
      note: row.identity_note,
    },
  }
}
