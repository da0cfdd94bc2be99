/** The tables of `migrations/0005_subnets.sql`, as the query builder sees them. */
import type { ColumnType, Generated, GeneratedAlways } from 'kysely'
import type { PoolProvider } from '#contract/network/subnets.ts'

type Time = ColumnType<Date, Date, Date>
type OptionalTime = ColumnType<Date | null, Date | null | undefined, Date | null>

export interface SubnetTable {
  id: Generated<string>
  name: string
  datacenter_id: string
  cidr: string
  gateway: string | null
  vlan_id: number | null
  exclude: string[]
  first_and_last: boolean
  purpose: 'workload' | 'management'
  /** A numeric: more than a number can say. */
  total: string
  scope: GeneratedAlways<string>
  version: Generated<number>
  created_at: Time
  updated_at: Time
  updated_by: string
}

export interface SubnetAssignmentTable {
  subnet_id: string
  cluster_id: string
  purpose: 'workload' | 'management'
  state: 'applying' | 'active' | 'draining' | 'error'
  reason: string | null
  forced: Generated<boolean>
  assigned_by: string
  assigned_at: Time
  sent_at: OptionalTime
  applied: ColumnType<string | null, string | null | undefined, string | null>
  observed_at: OptionalTime
  used: ColumnType<number | null, number | null | undefined, number | null>
}

export interface SubnetUseTable {
  subnet_id: string
  cluster_id: string
  address: string
  used_by: string
}

export interface ClusterPoolTable {
  cluster_id: string
  provider: ColumnType<PoolProvider | null, PoolProvider | null | undefined, PoolProvider | null>
  announced: ColumnType<string | null, string | null | undefined, string | null>
  operation_id: ColumnType<string | null, string | null | undefined, string | null>
  operation_round: Generated<number>
  checked_at: OptionalTime
  misses: Generated<number>
}

export interface SubnetTables {
  subnet: SubnetTable
  subnet_assignment: SubnetAssignmentTable
  subnet_use: SubnetUseTable
  cluster_pool: ClusterPoolTable
}
