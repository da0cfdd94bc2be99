/** The tables of `db/migrations/0003_clusters.sql`, `0008_leaving.sql`, `0009_disks-and-trouble.sql`, `0011_node-state-and-failure-logs.sql`, `0019_changed-by-others.sql` and `0020_taken-over-clusters.sql`, as the query builder sees them. */
import type { ColumnType, Generated } from 'kysely'
import type { ClusterRole, ClusterStatus } from '#contract/clusters/clusters.ts'
import type { MachineImages } from '#talos/config/compare.ts'
import type { AgreedDisks, DiskWwids } from './create/disks.ts'
import type { Place } from './plan.ts'

type Time = ColumnType<Date, Date, Date>
type OptionalTime = ColumnType<Date | null, Date | null | undefined, Date | null>
type Optional<T> = ColumnType<T | null, T | null | undefined, T | null>

interface ClusterTable {
  id: Generated<string>
  name: string
  datacenter_id: string
  talos_version: string
  kubernetes_version: string
  endpoint: string
  virtual_ip: boolean
  vlan_id: number | null
  pod_cidr: string
  service_cidr: string
  chain_address: string
  offer_id: Optional<string>
  wanted: Generated<'ready' | 'removed'>
  forced: Generated<boolean>
  status: Generated<ClusterStatus>
  reason: Optional<string>
  operation_id: Optional<string>
  operation_round: Generated<number>
  escrowed_at: OptionalTime
  control_plane_at: OptionalTime
  nodes_ready_at: OptionalTime
  key_applied_at: OptionalTime
  access_applied_at: OptionalTime
  ready_at: OptionalTime
  misses: Generated<number>
  deleted_at: OptionalTime
  locked_out: Optional<'talos_ca' | 'kubernetes_ca'>
  locked_out_since: OptionalTime
  taken_over_at: OptionalTime
  version: Generated<number>
  created_at: Time
  updated_at: Time
}

interface ClusterSecretTable {
  cluster_id: string
  kind: 'bundle' | 'chain_key'
  sealed: Uint8Array
  created_at: Time
}

interface ClusterServerTable {
  cluster_id: string
  node_id: string
  role: ClusterRole
  position: number
  name: string
  interface: string | null
  install_disk: string
  install_image: string
  workload_disks: string[]
  disk_wwids: ColumnType<DiskWwids, string | undefined, never>
  agreed_disks: ColumnType<AgreedDisks, string | undefined, string>
  install_wwid: Optional<string>
  trouble: Optional<string>
  failure_log: Optional<string>
  failure_log_at: OptionalTime
  wanted: Generated<'joined' | 'released'>
  at: Generated<Place>
  at_since: Time
  stage: Optional<string>
  seen_at: OptionalTime
  send_intent_at: OptionalTime
  sent_at: OptionalTime
  sends: Generated<number>
  left_at: OptionalTime
  was_installed: Optional<boolean>
  secured_at: OptionalTime
  etcd_at: OptionalTime
  node_ready_at: OptionalTime
  reset_intent_at: OptionalTime
  reset_sent_at: OptionalTime
  resets: Generated<number>
  failed_at: OptionalTime
  failure: Optional<string>
  released_at: OptionalTime
  operation_id: Optional<string>
  keep_workload_disks: Generated<boolean>
  wiped_at: OptionalTime
  images: ColumnType<MachineImages | null, string | null | undefined, string | null>
  overwrite_seen: Optional<string>
}

interface ClusterServerConfigTable {
  cluster_id: string
  node_id: string
  generation: number
  sealed: Uint8Array
  hash: string
  created_at: Time
  held_at: OptionalTime
}

interface ClusterServerBaseTable {
  cluster_id: string
  node_id: string
  sealed: Uint8Array
  created_at: Time
}

interface ClusterBootstrapTable {
  cluster_id: string
  node_id: string
  node_uuid: string
  intent_at: Time
  called_at: OptionalTime
  calls: Generated<number>
  confirmed_at: OptionalTime
}

export interface ClusterTables {
  cluster: ClusterTable
  cluster_secret: ClusterSecretTable
  cluster_server: ClusterServerTable
  cluster_server_config: ClusterServerConfigTable
  cluster_server_base: ClusterServerBaseTable
  cluster_bootstrap: ClusterBootstrapTable
}
