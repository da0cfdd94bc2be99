/** The audit log: who did what to which object, when, from where, with what result. Append-only; each entry contains the hash of the previous one. */
import * as z from 'zod/mini'
import { list, listOperation } from './list.ts'
import { type OperationKind, operationTable } from './operations.ts'
import { time } from './page.ts'
import { counted } from './words.ts'

const ofOperations = Object.fromEntries(Object.values(operationTable).map(({ audit, event }) => [audit, event])) as Record<
  (typeof operationTable)[OperationKind]['audit'],
  string
>

/**
 * Texts of the audit log's actions, as the list of a server's or cluster's events shows them.
 * `{name}` is a field of the entry's `after`; for a list, the number of items. `{field?yes:no}` is `yes` if the field is true, else `no`. Text in brackets is
 * left out if its field is missing.
 */
const sentences = {
  ...ofOperations,
  'server.added': 'Registered[: announced itself with the join token {join_token}]',
  'server.moved': 'Found at a new address',
  'server.identity_alarm': 'Identity alarm: other hardware answered, or another machine has the same UUID',
  'server.confirmed': 'The hardware was confirmed',
  'server.renamed': 'Renamed[ to {name}]',
  'server.moved_to_datacenter': 'Moved to another datacenter',
  'server.removed_by_force': 'Removed by force; the server did not answer',
  'server.install_failed': 'Talos was not installed[, attempt {attempt} of {of}][: {reason}]',
  'server.failed': 'Failed[: {reason}]',
  'server.reset': 'Wiped and released from its cluster',
  'server.talosconfig_minted': 'A talosconfig was downloaded',
  'server.configured': 'The configuration was applied[: {reason}]',
  'server.config_changed_outside': 'The configuration was changed outside of Steelyard',
  'server.images_changed_outside': 'Images that were changed outside of Steelyard were adopted',
  'server.taken_over': 'Taken over with its cluster',
  'server.drift_kept': 'Changes made outside of Steelyard were kept',
  'server.drift_overwritten': 'Overwriting the changes made outside of Steelyard was requested',
  'server.resumed': 'Resumed after a restore',
  'patch.created': 'A patch was added',
  'patch.updated': 'A patch was changed',
  'patch.removed': 'A patch was removed',
  'cluster.ready': 'Ready for the first time',
  'cluster.delete_forced': 'Removal without resetting the servers was requested',
  'cluster.removed': 'Removed',
  'cluster.server_failed': 'A server failed[: {reason}]',
  'cluster.server_released': 'A server left[: {name}, {was_reset?wiped:not wiped}]',
  'cluster.server_forgotten': 'A server was removed without a reset[: {name}]',
  'cluster.announcements_corrected': 'The announcement of its load balancer addresses was corrected',
  'cluster.versions_changed_outside': 'Its versions were changed outside of Steelyard[: Talos {talos_version}, Kubernetes {kubernetes_version}]',
  'cluster.locked_out': 'Its certificate authority was changed outside of Steelyard',
  'cluster.let_in_again': 'Its machines accept the certificates of Steelyard again',
  'cluster.secrets_imported': 'New secrets were imported',
  'cluster.kubeconfig_downloaded': 'A kubeconfig was downloaded',
  'cluster.talosconfig_downloaded': 'A talosconfig was downloaded',
  'cluster.resumed': 'Resumed after a restore',
} as const
/** Actions on objects that have no list of events for users. */
type Unshown =
  | `${'datacenter' | 'subnet' | 'user'}.${'created' | 'updated' | 'removed'}`
  | `subnet.${'unassigned' | 'drift_corrected'}`
  | `image.${'created' | 'registered' | 'not_registered' | 'removed'}`
  | `join_token.${'created' | 'revoked'}`
  | `join.${'refused' | 'failed'}`
  | `offer.${'created' | 'updated' | 'recomputed' | 'access_address_set' | 'detected' | 'proven' | 'detached'}`
  | `operation.${'cancel_requested' | 'retried' | 'resumed' | 'cancelled' | 'failed' | 'done'}`
  | `session.${'started' | 'ended' | 'refused' | 'refresh_reuse' | 'proved'}`
  | `user.${'unlocked' | 'password_changed' | 'password_reset' | 'password_reset_offered'}`
  | `user.${'second_factor_added' | 'second_factor_removed' | 'second_factor_reset' | 'recovery_codes_renewed' | 'recovery_code_used' | 'provider_linked'}`
  | `api_token.${'created' | 'revoked'}`
  | `invitation.${'created' | 'removed' | 'accepted'}`
  | `installation.${'backed_up' | 'restored'}`
  | `waitlist.${'joined' | 'removed'}`
  | 'audit.keyed'
export type AuditAction = keyof typeof sentences | Unshown

/** The text of an entry in the events of its target. An action that is unknown because a newer version wrote it is shown by its name. */
export function auditSentence(action: string, after: Readonly<Record<string, unknown>> | null): string {
  const sentence = (sentences as Readonly<Record<string, string>>)[action] ?? action
  return sentence.replaceAll(/\[([^[\]]*)\]/g, (_all, part: string) => {
    let isWhole = true
    const text = part.replaceAll(/\{(\w+)(?:\?([^:{}]*):([^{}]*))?\}/g, (_field, name: string, yes?: string, no?: string) => {
      const value = after?.[name]
      if (yes !== undefined) return value === true ? yes : no!
      if (Array.isArray(value)) return counted(value.length, name.replace(/s$/, ''))
      if (typeof value === 'string' || typeof value === 'number') return String(value)
      isWhole = false
      return ''
    })
    return isWhole ? text : ''
  })
}

export const AuditEntry = z.object({
  seq: z.int(),
  at: time,
  actor: z.nullable(z.string()),
  /** Id of the session or API token that was used; null for actions of Steelyard itself. */
  session_id: z.nullable(z.string()),
  /** Whether an API token was used. */
  by_token: z.boolean(),
  ip: z.nullable(z.string()),
  action: z.string(),
  target: z.nullable(z.object({ kind: z.string(), id: z.nullable(z.string()), name: z.nullable(z.string()) })),
  /** `ok`, or the code of the refusal. */
  result: z.string(),
  after: z.nullable(z.record(z.string(), z.unknown())),
  request_id: z.nullable(z.string()),
  /** SHA-256, hex, of this entry and the previous hash. */
  hash: z.string(),
})
export type AuditEntry = z.infer<typeof AuditEntry>

const text = (length: number) => z.string().check(z.maxLength(length))
const audit = list<AuditEntry>()({
  nouns: ['entry', 'entries'],
  columns: { seq: { label: 'Number', kind: 'number', sort: true, value: (e: AuditEntry) => e.seq } },
  filters: {
    action: { label: 'Action', help: 'Only entries of this action, such as `cluster.created`', schema: text(60) },
    target: { label: 'Object', help: 'Only entries about this object, by its id', schema: text(80) },
    actor: { label: 'Who', help: 'Only actions of this user, by name', schema: text(254) },
  },
  order: '-seq',
})

export const auditList = listOperation(audit, AuditEntry, {
  name: 'auditList',
  summary: 'The audit log, newest first.',
  path: '/v1/audit',
  scope: 'users:manage',
})
