/** What the history keeps of a server's row. */
import { capacityOf } from '#contract/capacity.ts'
import type { ServerState } from '#contract/history/kinds.ts'
import type { Hardware } from '../../db/columns.ts'
import { noPlace, placementText } from './places.ts'
import type { ServerChange, ServerRow } from './store.ts'

/** The columns that each field of the state is read from. */
const columnsOf = {
  name: ['name'],
  status: ['status'],
  address: ['address'],
  datacenter: ['datacenter_code'],
  placement: ['rack_id', 'rack_name', 'rack_unit', 'rack_height', 'rack_face', 'rack_bay'],
  cluster: ['cluster_id', 'cluster_name'],
  role: ['type'],
  reachable: ['reachable'],
  stage: ['stage'],
  node_ready: ['node_ready'],
  identity: ['identity_state'],
  talos_version: ['talos_version'],
  schematic: ['schematic'],
  uuid: ['uuid'],
  serial: ['serial'],
  maker: ['manufacturer'],
  model: ['product'],
  capacity: ['hardware'],
  hardware: ['hardware'],
  links_up: ['hardware'],
  addresses: ['hardware'],
  drifted: ['drift_since'],
  failure: ['failure'],
  labels: ['labels'],
  quarantine: ['quarantine'],
} as const satisfies Readonly<Record<keyof ServerState, readonly (keyof ServerRow)[]>>

export type Remembered = (typeof columnsOf)[keyof ServerState][number] | 'operation_id'

/** Columns that are written under another name. */
const written: Readonly<Record<string, string>> = {
  datacenter_code: 'datacenter_id',
  rack_name: 'rack_id',
}
const all = [...new Set(Object.values(columnsOf).flat())]

/** The columns that the history keeps and that a change may alter; none if it alters no other. */
export function remembered(change: ServerChange): readonly Remembered[] {
  const columns = all.filter((column) => (written[column] ?? column) in change)
  return columns.length === 0
    ? []
    : [...new Set<Remembered>([...columns, 'cluster_id', 'cluster_name', 'operation_id'])]
}

const joined = (...parts: readonly (string | number | undefined)[]): string =>
  parts.filter((part) => part !== undefined && part !== '').join(' ')
const gib = 1024 ** 3

/** One text for each processor, memory module, disk and network card. */
function partsOf(hardware: Hardware): string[] {
  const { processors, memory, disks, interfaces } = hardware
  return [
    ...processors.map((p) => `processor ${joined(p.id, p.product_name)}`),
    ...memory.map((m) =>
      joined('memory', m.id, m.manufacturer, m.size === undefined ? '' : `${m.size / gib} GiB`),
    ),
    ...disks.map((d) =>
      joined(
        'disk',
        d.id,
        d.model,
        d.size === undefined ? '' : `${Math.round(d.size / gib)} GiB`,
        d.serial,
      ),
    ),
    ...interfaces.map((i) => joined('network card', i.id, i.product, i.hardware_addr)),
  ]
}

function capacityIn(hardware: Hardware): ServerState['capacity'] {
  const { cores, memory_bytes, disk_bytes } = capacityOf(hardware)
  return { cores, memory_bytes, disk_bytes }
}

type Known = Partial<Pick<ServerRow, Remembered>>

/** The state that the row records. Fields whose columns are missing are left out. */
export function stateOf(row: Pick<ServerRow, Remembered>): ServerState
export function stateOf(row: Known): Partial<ServerState>
export function stateOf(row: Known): Partial<ServerState> {
  const { hardware = null } = row
  const whole: ServerState = {
    name: row.name ?? '',
    status: row.status ?? 'maintenance',
    address: row.address ?? '',
    datacenter: row.datacenter_code ?? null,
    placement: placementText({ rack_name: null, ...noPlace, ...row }),
    cluster:
      row.cluster_id === null || row.cluster_id === undefined
        ? null
        : { id: row.cluster_id, name: row.cluster_name ?? '' },
    role: row.type ?? 'unknown',
    reachable: row.reachable ?? null,
    stage: row.stage ?? 'unknown',
    node_ready: row.node_ready ?? null,
    identity: row.identity_state ?? '',
    talos_version: row.talos_version ?? null,
    schematic: row.schematic ?? null,
    uuid: row.uuid ?? null,
    serial: row.serial ?? null,
    maker: row.manufacturer || null,
    model: row.product || null,
    capacity: hardware === null ? null : capacityIn(hardware),
    hardware: hardware === null ? null : partsOf(hardware),
    links_up:
      hardware === null
        ? null
        : hardware.links.filter((l) => l.physical && l.up).map((l) => l.name),
    addresses: hardware === null ? null : hardware.addresses.toSorted(),
    drifted: row.drift_since !== null && row.drift_since !== undefined,
    failure: row.failure ?? null,
    labels: row.labels ?? {},
    quarantine: row.quarantine?.reason ?? null,
  }
  return Object.fromEntries(
    Object.entries(whole).filter(([field]) =>
      columnsOf[field as keyof ServerState].every((column) => column in row),
    ),
  )
}

/** Why the server doesn't answer, or its node isn't Ready. */
export const reasons = ({
  reachable,
  reason,
  node_ready,
  node_reason,
}: Pick<ServerRow, 'reachable' | 'reason' | 'node_ready' | 'node_reason'>) => {
  const why = reachable === false ? reason : node_ready === false ? node_reason : null
  return why === null ? {} : { reason: why }
}
