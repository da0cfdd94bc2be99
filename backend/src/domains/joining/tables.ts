/** The tables of `migrations/0006_joining.sql`, as the query builder sees them. */
import type { ColumnType, Generated } from 'kysely'

type Time = ColumnType<Date, Date, Date>
type OptionalTime = ColumnType<Date | null, Date | null | undefined, Date | null>

export interface JoinTokenTable {
  id: Generated<string>
  name: string
  hash: Uint8Array
  datacenter_id: string | null
  max_uses: number | null
  uses: Generated<number>
  expires_at: OptionalTime
  revoked_at: OptionalTime
  last_used_at: OptionalTime
  created_by: string | null
  created_at: Time
  updated_at: Time
  version: Generated<number>
}

export interface JoinArrivalTable {
  id: Generated<string>
  token_id: string
  uuid: string
  serial: string
  mac: string | null
  address: string
  host_name: string | null
  /** It has taken a use of its token. */
  counted: Generated<boolean>
  at: Time
  result: 'waiting' | 'joined' | 'failed' | 'refused'
  reason: string | null
  server_id: string | null
  shard: number
}

export interface JoinTables {
  join_key: { id: Generated<number>; key_sealed: Uint8Array }
  join_token: JoinTokenTable
  join_arrival: JoinArrivalTable
}
