/** The tables of `migrations/0001_platform.sql`, as the query builder sees them. */
import type { OperationKind } from '#contract/operations.ts'
import type { ColumnType, Generated, GeneratedAlways, JSONColumnType } from 'kysely'

type Time = ColumnType<Date, Date, Date>
type OptionalTime = ColumnType<Date | null, Date | null | undefined, Date | null>
type Json<T extends object> = JSONColumnType<T>
type OptionalJson = ColumnType<unknown, string | null | undefined, string | null>

interface InstallationTable {
  singleton: Generated<boolean>
  id: Generated<string>
  key_fingerprint: string | null
  rotation_key_sealed: Uint8Array | null
  created_at: Generated<Date>
}

interface PersonTable {
  id: Generated<string>
  email: string
  name: string
  role: 'viewer' | 'operator' | 'admin'
  password_hash: string
  disabled_at: OptionalTime
  last_sign_in_at: OptionalTime
  created_at: Time
  updated_at: Time
  version: Generated<number>
}

interface SessionTable {
  id: string
  person_id: string
  created_at: Time
  last_used_at: Time
  expires_at: Time
  revoked_at: OptionalTime
  revoked_reason: string | null
  ip: string
  user_agent: string
}

interface RefreshTokenTable {
  hash: Uint8Array
  session_id: string
  parent_hash: Uint8Array | null
  created_at: Time
  used_at: OptionalTime
}

interface SignInFailureTable {
  id: GeneratedAlways<number>
  email: string
  source: string
  at: Time
}

interface PasswordResetTable {
  person_id: string
  hash: Uint8Array
  created_at: Time
  expires_at: Time
}

interface SigningKeyTable {
  id: string
  public_jwk: Json<Record<string, unknown>>
  private_sealed: Uint8Array
  created_at: Time
}

interface DataKeyTable {
  owner: string
  version: number
  wrapping_key: string
  wrapped: Uint8Array
  created_at: Generated<Date>
}

interface PreferenceTable {
  person_id: string
  preferences: Json<Record<string, unknown>>
  updated_at: Time
}

interface WaitlistEntryTable {
  id: Generated<string>
  email: string
  name: string
  company: string
  created_at: Time
  invited_at: OptionalTime
}

interface OutboxTable {
  id: GeneratedAlways<number>
  at: Time
  audit: OptionalJson
  event: OptionalJson
}

interface AuditEntryTable {
  seq: number
  at: Time
  action: string
  outcome: string
  actor_kind: string
  actor_id: string | null
  actor_name: string
  session_id: string | null
  ip: string | null
  request_id: string | null
  target_kind: string | null
  target_id: string | null
  target_name: string | null
  before: OptionalJson
  after: OptionalJson
  previous_hash: string
  hash: string
}

interface EventTable {
  id: number
  at: Time
  name: string
  scope: string | null
  data: Json<Record<string, unknown>>
}

interface PublicationTable {
  singleton: Generated<boolean>
  last_event: number
  last_audit: number
  last_hash: string
  chain_sealed: Uint8Array | null
}

interface IdempotentCallTable {
  person_id: string
  operation: string
  key: string
  request_hash: Uint8Array
  started_at: Time
  committed_at: OptionalTime
  answered_at: OptionalTime
  status: number | null
  answer: OptionalJson
  owner: Generated<string>
  claim: Generated<string>
  beat_at: Generated<Date>
  bytes: Generated<number>
}

interface OperationTable {
  id: Generated<string>
  kind: OperationKind
  target_kind: 'server' | 'cluster' | 'datacenter'
  target_id: string | null
  target_name: string
  scope: string | null
  status: Generated<'pending' | 'running' | 'waiting' | 'cancelling' | 'cancelled' | 'failed' | 'done'>
  reason: string | null
  queue: string | null
  queue_key: string | null
  created_by: string | null
  created_by_name: string
  created_at: Time
  started_at: OptionalTime
  ended_at: OptionalTime
  cancel_requested_at: OptionalTime
  held_since: OptionalTime
  round: Generated<number>
  version: Generated<number>
}

interface OperationStepTable {
  operation_id: string
  key: string
  position: number
  title: string
  node_id: string | null
  status: Generated<'todo' | 'running' | 'waiting' | 'done' | 'failed' | 'skipped'>
  attempt: Generated<number>
  started_at: OptionalTime
  ended_at: OptionalTime
  reason: string | null
}

interface WakeUpTable {
  queue: string
  key: string
  fence: Generated<number>
  due_at: OptionalTime
  owner: string | null
  taken_at: OptionalTime
  beat_at: OptionalTime
  failures: Generated<number>
  last_error: string | null
  held: Generated<boolean>
}

interface RestorationTable {
  singleton: Generated<boolean>
  backup_made_at: Time
  restored_at: Time
}

interface HoldTable {
  subject: string
  kind: 'cluster' | 'operation'
  id: string
}

interface EffectTable {
  queue: string
  key: string
  name: string
  fence: number
  attempts: number
  intent_at: Time
  done_at: OptionalTime
  failed_at: OptionalTime
  error: string | null
}

interface CityIndexTable {
  country_code: string
  city_code: string
  last_index: number
}

interface DatacenterTable {
  id: Generated<string>
  country_code: string
  city_code: string
  city_name: string
  index: number
  code: GeneratedAlways<string>
  tier: number | null
  certifications: string[]
  latitude: number | null
  longitude: number | null
  facility: string | null
  address: string | null
  power_capacity_kw: number | null
  rack_capacity: number | null
  notes: string | null
  version: Generated<number>
  created_at: Time
  updated_at: Time
}

export interface PlatformTables {
  installation: InstallationTable
  person: PersonTable
  session: SessionTable
  refresh_token: RefreshTokenTable
  sign_in_failure: SignInFailureTable
  password_reset: PasswordResetTable
  signing_key: SigningKeyTable
  data_key: DataKeyTable
  preference: PreferenceTable
  waitlist_entry: WaitlistEntryTable
  outbox: OutboxTable
  audit_entry: AuditEntryTable
  event: EventTable
  publication: PublicationTable
  idempotent_call: IdempotentCallTable
  operation: OperationTable
  operation_step: OperationStepTable
  wake_up: WakeUpTable
  restoration: RestorationTable
  hold: HoldTable
  effect: EffectTable
  city_index: CityIndexTable
  datacenter: DatacenterTable
}
