/** The tables of `migrations/0002_servers.sql`, as the query builder sees them. `patch` belongs to the patches domain. */
import type { ColumnType, Generated, GeneratedAlways } from 'kysely'
import type { NodeType, ServerStatus, Stage } from '#contract/servers/servers.ts'
import type { Hardware } from './hardware.ts'

type Time = ColumnType<Date, Date, Date>
type OptionalTime = ColumnType<Date | null, Date | null | undefined, Date | null>
/** Read parsed, written as JSON text. */
type Json<T> = ColumnType<T, string, string>
type OptionalJson<T> = ColumnType<T | null, string | null | undefined, string | null>
/** Transaction ids are compared by the database only. */
type Xid = GeneratedAlways<string>

export interface Unmet {
  readonly name: string
  readonly reason: string
}

export interface ServerTable {
  id: Generated<string>
  name: string
  status: Generated<ServerStatus>
  type: Generated<NodeType>
  datacenter_id: string | null
  cluster_id: string | null
  cluster_name: string | null
  operation_id: string | null
  address: string
  identity_state: 'announced' | 'unconfirmed' | 'confirmed' | 'changed'
  identity_since: Time
  identity_note: string | null
  uuid: string | null
  serial: string | null
  manufacturer: string | null
  product: string | null
  seen_uuid: string | null
  seen_serial: string | null
  predecessor_id: string | null
  fingerprint: string | null
  hardware: OptionalJson<Hardware>
  hardware_at: OptionalTime
  stage: Generated<Stage>
  unmet: ColumnType<Unmet[], string | undefined, string>
  talos_version: string | null
  schematic: string | null
  secure_boot: boolean | null
  system_disk: string | null
  reachable: boolean | null
  unreachable_since: OptionalTime
  reason: string | null
  node_ready: ColumnType<boolean | null, boolean | null | undefined, boolean | null>
  node_reason: ColumnType<string | null, string | null | undefined, string | null>
  node_since: OptionalTime
  drift_since: OptionalTime
  drift_seen: ColumnType<string | null, string | null | undefined, string | null>
  patch_count: Generated<number>
  patch_links: Generated<string[]>
  version: Generated<number>
  created_at: Time
  updated_at: Time
  removed_at: OptionalTime
  change: Xid
}

export interface ServerContactTable {
  server_id: string
  at: Time
  change: Xid
}

export interface ServerAdditionTable {
  key: string
  operation_id: string
  datacenter_id: string | null
  scan: boolean
}

export interface FleetMemberTable {
  id: string
  beat_at: Time
}

export interface FleetShardTable {
  shard: number
  owner: string | null
  lease_until: OptionalTime
}

export interface PatchTable {
  id: Generated<string>
  server_id: string
  name: string
  weight: number
  labels: Json<Record<string, string>>
  body_sealed: Uint8Array
  links: string[]
  version: Generated<number>
  created_at: Time
  updated_at: Time
  created_by_name: string
}

export interface ServerTables {
  server: ServerTable
  server_contact: ServerContactTable
  server_addition: ServerAdditionTable
  fleet_member: FleetMemberTable
  fleet_shard: FleetShardTable
  patch: PatchTable
}
