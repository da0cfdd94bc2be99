/**
 * The audit log: who did what to which object, when, from where, with what result. Append-only;
 * each entry contains the hash of the previous one.
 */
import * as z from 'zod/mini'
import { codeText, lineText, personText, wordText } from './bounds/fields.ts'
import { bounding } from './bounds/text.ts'
import { list, listOperation, meaningsOf, narrowingOf } from './list.ts'
import { operation, type Words } from './operation.ts'
import { type OperationKind, operationTable } from './operations.ts'
import { time, wholeInQuery } from './page.ts'
import { count, counted } from './words.ts'

const ofOperations = Object.fromEntries(
  Object.values(operationTable).map(({ audit, event }) => [audit, event]),
) as Record<(typeof operationTable)[OperationKind]['audit'], string>

/** Part of the text of an entry that stands for several, which had no entries of their own. */
const several =
  '[; {count} more between {first_at} and {last_at}; number of addresses: {addresses}]'

/**
 * Texts of the audit log's actions, for the audit log and for the events of a server or cluster.
 * `{name}` is a field of the entry's `after`; for a list, the number of items. `{field?yes:no}` is
 * `yes` if the field is true, else `no`. Text in brackets is left out if its field is missing.
 */
const sentences = {
  ...ofOperations,
  'server.added': 'Registered[: announced itself with the join token {join_token}]',
  'server.booted': 'Booted for the first time: its BMC knew it before',
  'server.moved': 'Found at a new address',
  'server.identity_alarm':
    'Identity alarm: other hardware answered, or a machine says that it is this server',
  'server.confirmed': 'The hardware was confirmed',
  'server.renamed': 'Renamed[ to {name}]',
  'server.moved_to_datacenter': 'Moved to another datacenter',
  'server.placed': 'Its place was recorded[: {placement}]',
  'server.unplaced': 'Taken out of its rack',
  'server.labelled': 'Its labels were changed[: {changed}]',
  'server.noted': 'Its notes were changed',
  'server.quarantined': 'Put into quarantine[: {reason}]',
  'server.quarantine_lifted': 'Its quarantine was lifted',
  'server.removed_by_force': 'Removed by force; the server did not answer',
  'server.install_failed': 'Talos was not installed[, attempt {attempt} of {of}][: {reason}]',
  'server.failed': 'Failed[: {reason}]',
  'server.reset': 'Wiped and released from its cluster',
  'server.talosconfig_minted': 'A talosconfig was downloaded',
  'server.configured': 'The configuration was applied[: {reason}]',
  'server.change_tried':
    'A change of its network is on trial[: Talos undoes it after {seconds} s unless the server answers at {address}]',
  'server.change_undone': 'A change of its network was undone[: {reason}]',
  'server.config_changed_outside': 'The configuration was changed outside of Steelyard',
  'server.images_changed_outside': 'Images that were changed outside of Steelyard were adopted',
  'server.taken_over': 'Taken over with its cluster',
  'server.drift_kept': 'Changes made outside of Steelyard were kept',
  'server.drift_overwritten': 'Overwriting the changes made outside of Steelyard was requested',
  'server.resumed': 'Resumed after a restore',
  'server.power_changed': 'Its power changed[: {power}][; its BMC answered: {answer}]',
  'server.light_switched': 'Its light was switched {lit?on:off}',
  'bmc.added': 'Added',
  'bmc.updated': 'Changed',
  'bmc.removed': 'Removed',
  'bmc.confirmed': 'Its certificate was confirmed[: {fingerprint}]',
  'bmc.matched': 'A user decided which server it switches[: {server}]',
  'bmc.alarm': 'Alarm: it shows another certificate or other hardware[: {reason}]',
  'bmc.denied': 'It refused the password[: {reason}]',
  'bmc_credential.created': 'Added',
  'bmc_credential.updated': 'Changed',
  'bmc_credential.removed': 'Removed',
  'patch.created': 'A patch was added',
  'patch.updated': 'A patch was changed',
  'patch.removed': 'A patch was removed',
  'cluster.ready': 'Ready for the first time',
  'cluster.delete_forced': 'Removal without resetting the servers was requested',
  'cluster.removed': 'Removed',
  'cluster.server_failed': 'A server failed[: {reason}]',
  'cluster.server_released': 'A server left[: {name}, {was_reset?wiped:not wiped}]',
  'cluster.server_forgotten': 'A server was removed without a reset[: {name}]',
  'cluster.announcements_corrected':
    'The announcement of its load balancer addresses was corrected',
  'cluster.versions_changed_outside':
    'Its versions were changed outside of Steelyard[: Talos {talos_version}, Kubernetes {kubernetes_version}]',
  'cluster.files_held': 'Only a set of files changes it from now on[: {set}]',
  'cluster.files_released': 'It was released from its files',
  'cluster.locked_out': 'Its certificate authority was changed outside of Steelyard',
  'cluster.let_in_again': 'Its machines accept the certificates of Steelyard again',
  'cluster.key_kept': 'A cluster key that was there was kept[: {address}]',
  'cluster.key_replaced': 'The cluster key was replaced[: {replaced}]',
  'cluster.secrets_imported': 'New secrets were imported',
  'cluster.secrets_rotated': 'Secrets were rotated[: {what}]',
  'cluster.rotation_taken_back': 'A rotation of secrets was taken back[: {what}]',
  'cluster.kubeconfig_downloaded': 'A kubeconfig was downloaded',
  'cluster.talosconfig_downloaded': 'A talosconfig was downloaded',
  'cluster.resumed': 'Resumed after a restore',
  'cluster.labelled': 'Its labels were changed[: {changed}]',
  'cluster.noted': 'Its notes were changed',
  'cluster.window_set': 'Its maintenance window was changed',
  'datacenter.created': 'Added',
  'datacenter.updated': 'Changed',
  'datacenter.removed': 'Removed',
  'shared_patch.created': 'Added',
  'shared_patch.updated': 'Changed',
  'shared_patch.removed': 'Removed',
  'shared_view.created': 'Shared',
  'shared_view.updated': 'Changed',
  'shared_view.removed': 'Removed',
  'rack.created': 'Added',
  'rack.updated': 'Changed',
  'rack.removed': 'Removed',
  'template.created': 'Added',
  'template.updated': 'Changed',
  'template.removed': 'Removed',
  'subnet.created': 'Added',
  'subnet.updated': 'Changed',
  'subnet.removed': 'Removed',
  'subnet.unassigned': 'Unassigned from its cluster',
  'subnet.drift_corrected':
    'A change made outside of Steelyard was reverted[ in the cluster {cluster}]',
  'image.created': 'An image was prepared',
  'image.registered': 'Registered with the image factory',
  'image.not_registered': 'Not registered with the image factory[: {reason}]',
  'image.removed': 'Removed',
  'join_token.created': 'Created',
  'join_token.revoked': 'Revoked',
  'join.refused': `An announcement was refused[: {reason}]${several}`,
  'join.failed': `An announced machine did not join[: {reason}]${several}`,
  'store.created': 'Added',
  'store.updated': 'Changed',
  'store.removed': 'Removed',
  'cluster.snapshot_import_requested': 'The import of a snapshot was requested[: {file}]',
  'cluster.snapshot_taken': 'A snapshot was taken and verified[: {key}]',
  'cluster.snapshot_failed': 'A snapshot failed[: {reason}]',
  'cluster.snapshot_damaged': 'A snapshot was found damaged[: {reason}]',
  'cluster.snapshot_downloaded': 'A snapshot was downloaded[: {key}]',
  'cluster.snapshot_removed': 'The removal of a snapshot was requested[: {key}]',
  'cluster.snapshot_schedule_set': 'The schedule of its snapshots was set',
  'cluster.snapshot_schedule_removed': 'The schedule of its snapshots was removed',
  'offer.created': 'Created',
  'offer.updated': 'Changed',
  'offer.recomputed': 'Recomputed from the inventory of its cluster',
  'offer.access_address_set': 'The access address was set[: {access_address}]',
  'offer.detected': 'Detected in its cluster[ {cluster}]',
  'offer.proven': "Proven with the cluster's key[: {access_address}]",
  'offer.detached': 'Detached from its cluster[: {why}]',
  'operation.cancel_requested': 'Cancelling was requested',
  'operation.retried': 'A retry was requested',
  'operation.resumed': 'Resumed by a user',
  'operation.cancelled': 'Cancelled[: {reason}]',
  'operation.failed': 'Failed[: {reason}]',
  'operation.done': 'Completed',
  'channel.created': 'Added',
  'channel.updated': 'Changed',
  'channel.removed': 'Removed',
  'channel.tested': 'A test message was sent[: {problem}]',
  'alert_rule.created': 'Added',
  'alert_rule.updated': 'Changed',
  'alert_rule.removed': 'Removed',
  'delivery.retried': 'Sending a message again was requested',
  'silence.created': 'Added[: {note}]',
  'silence.removed': 'Ended',
  'finding.acknowledged': 'Acknowledged[: {note}]',
  'incident.assigned': 'An incident was assigned[ to {to}][: {title}]',
  'incident.unassigned': 'Nobody has an incident any more[: {title}]',
  'incident.noted': 'The note of an incident was changed[: {title}]',
  'session.started': 'Signed in[: by {method}]',
  'session.ended': 'A session ended[: {reason}]',
  'session.refused': `A sign-in failed${several}`,
  'session.refresh_reuse': 'A refresh token was used twice, so the session was ended',
  'session.proved': 'Confirmed the identity[: by {method}]',
  'session.proof_refused': `Confirming the identity failed[: by {method}]${several}`,
  'user.created': 'Added',
  'user.updated': 'Changed',
  'user.removed': 'Removed',
  'user.unlocked': 'The failed sign-ins were cleared',
  'user.password_changed': 'The password was changed',
  'user.password_reset': 'A new password was set with a link',
  'user.password_reset_offered': 'A link to set a new password was created',
  'user.password_reset_withdrawn': 'The link to set a new password was withdrawn',
  'user.second_factor_added': 'A second factor was added[: {factor}]',
  'user.second_factor_removed': 'A second factor was removed[: {factor}]',
  'user.second_factor_reset': 'All second factors were removed',
  'user.recovery_codes_renewed': 'New recovery codes were created',
  'user.recovery_code_used': 'Signed in with a recovery code[: {left} left]',
  'user.provider_linked': 'Linked to an account of the identity provider',
  'api_token.created': 'Created',
  'api_token.revoked': 'Revoked',
  'invitation.created': 'Invited[ as {role}]',
  'invitation.removed': 'The invitation was withdrawn',
  'invitation.accepted': 'The invitation was accepted',
  'installation.backed_up': 'A backup was made',
  'installation.backup_failed': 'A backup failed[: {reason}]',
  'installation.backup_requested': 'A backup was requested',
  'installation.backup_removed': 'The removal of a backup was requested[: {key}]',
  'installation.backup_schedule_set': 'The schedule of its backups was set',
  'installation.backup_schedule_removed': 'The schedule of its backups was removed',
  'installation.restored': 'Restored from a backup',
  'installation.went_back': 'The database went back in time',
  'waitlist.joined': 'Joined the waitlist',
  'waitlist.removed': 'Removed from the waitlist',
  'waitlist.refused': `A request to join was refused, because too many came at once${several}`,
  'audit.keyed': 'The chain of the audit log got a key',
  'audit.exported': 'The audit log was exported[ as {format}]',
  'cc.created': 'Created[ for {server}]',
  'cc.updated': 'Its terms were changed',
  'cc.measured': 'The capacity of the server was read again',
  'cc.committed': 'The capacity was committed[: {price}]',
  'cc.delegated': 'The delegation was confirmed',
  'cc.started': 'Started',
  'cc.completed': 'Completed',
  'cc.failed': 'Failed[: {reason}]',
  'cc.removed': 'Removed[: {reason}]',
} as const
export type AuditAction = keyof typeof sentences
export const auditActions = Object.keys(sentences) as AuditAction[]
/** The noun of an action: `server` for `server.renamed`. */
const nounOf = (action: string): string => action.slice(0, action.indexOf('.'))
/** The nouns of all actions. */
export const auditNouns: readonly string[] = [...new Set(auditActions.map(nounOf))].toSorted()

/**
 * The text of an entry. An action that is unknown because a newer version wrote it is shown by its
 * name.
 */
export function auditSentence(
  action: string,
  after: Readonly<Record<string, unknown>> | null,
): string {
  const sentence = (sentences as Readonly<Record<string, string>>)[action] ?? action
  return sentence.replaceAll(/\[([^[\]]*)\]/g, (_all, part: string) => {
    let isWhole = true
    const text = part.replaceAll(
      /\{(\w+)(?:\?([^:{}]*):([^{}]*))?\}/g,
      (_field, name: string, yes?: string, no?: string) => {
        const value = after?.[name]
        if (yes !== undefined) return value === true ? yes : no!
        if (Array.isArray(value)) return counted(value.length, name.replace(/s$/, ''))
        if (typeof value === 'string' || typeof value === 'number') return String(value)
        isWhole = false
        return ''
      },
    )
    return isWhole ? text : ''
  })
}

export const AuditEntry = z.object({
  seq: z.int(),
  at: time,
  actor: z.nullable(personText),
  /** Id of the session or API token that was used; null for actions of Steelyard itself. */
  session_id: z.nullable(wordText),
  /** Whether an API token was used. */
  by_token: z.boolean(),
  ip: z.nullable(codeText),
  action: wordText,
  target: z.nullable(
    z.object({ kind: codeText, id: z.nullable(wordText), name: z.nullable(lineText) }),
  ),
  /** `ok`, or the code of the refusal. */
  result: wordText,
  /** Fields of the object before and after the change, without secrets. */
  before: z.nullable(z.record(z.string(), z.unknown())),
  after: z.nullable(z.record(z.string(), z.unknown())),
  request_id: z.nullable(wordText),
  /** SHA-256, hex, of this entry and the previous hash. */
  hash: wordText,
})
export type AuditEntry = z.infer<typeof AuditEntry>

/** Largest size of `before` and of `after` as JSON, in a list and in what is recorded now. */
export const mostRecordedBytes = 16 * 1024
const recordedFields = z.nullable(
  z.record(z.string(), z.unknown()).check(
    z.overwrite(
      // The server shortens them before; this is the proof that no row is longer.
      bounding(mostRecordedBytes, (fields: Record<string, unknown>) =>
        new TextEncoder().encode(JSON.stringify(fields)).length <= mostRecordedBytes ? fields : {},
      ),
    ),
  ),
)
/** An entry in a list. */
export const AuditRow = z.extend(AuditEntry, {
  before: recordedFields,
  after: recordedFields,
  /**
   * Whether excerpts (`Excerpt`) stand for large texts that the entry has; `auditGet` returns it
   * whole. Entries that are written now have excerpts themselves.
   */
  shortened: z.boolean(),
})
export type AuditRow = z.infer<typeof AuditRow>

const text = (length: number) => z.string().check(z.maxLength(length))
const audit = list<AuditRow>()({
  nouns: ['entry', 'entries'],
  columns: {
    at: { label: 'Time', kind: 'time', value: (e: AuditEntry) => e.at },
    actor: { label: 'Who', value: (e: AuditEntry) => e.actor },
    action: { label: 'Action', value: (e: AuditEntry) => e.action },
    target: { label: 'Object', value: (e: AuditEntry) => e.target?.name ?? e.target?.id ?? null },
    result: { label: 'Result', value: (e: AuditEntry) => e.result },
    ip: { label: 'From', kind: 'mono', value: (e: AuditEntry) => e.ip },
    request_id: {
      label: 'Request',
      kind: 'mono',
      hidden: true,
      value: (e: AuditEntry) => e.request_id,
    },
    seq: { label: 'Number', kind: 'number', sort: true, value: (e: AuditEntry) => e.seq },
  },
  filters: {
    about: { label: 'About', help: 'Only actions on this kind of object', choices: auditNouns },
    action: {
      label: 'Action',
      help: 'Only entries of this action, such as `cluster.created`',
      schema: text(60),
    },
    actor: { label: 'Who', help: 'Only actions of this user, by email', schema: text(254) },
    result: {
      label: 'Result',
      help: 'Only actions that were done, or that were refused',
      choices: { ok: 'Done', refused: 'Refused' },
    },
    target: {
      label: 'Object',
      help: 'Only entries about this object, by its id',
      schema: text(80),
    },
    ip: { label: 'From', help: 'Only actions from this source address', schema: text(45) },
    since: {
      label: 'Since',
      help: 'Only entries from this time on, in ISO 8601 and UTC',
      schema: time,
      placeholder: 'TIME',
    },
    until: {
      label: 'Until',
      help: 'Only entries before this time, in ISO 8601 and UTC',
      schema: time,
      placeholder: 'TIME',
    },
  },
  order: '-seq',
  mostPerPage: 200,
})

export const auditList = listOperation(audit, AuditRow, {
  name: 'auditList',
  summary:
    'The audit log, newest first. Where an entry has a large text, the list has its length, its digest and its first 4 KiB.',
  path: '/v1/audit',
  scope: 'users:manage',
})

export const auditGet = operation('auditGet', 'GET /v1/audit/{seq}', 'users:manage', {
  summary: 'One entry of the audit log, whole.',
  params: z.strictObject({ seq: wholeInQuery(1, 999_999_999_999_999) }),
  answer: AuditEntry,
})

/** Columns of the CSV export. `before` and `after` are JSON. */
export const auditCsvColumns = [
  'seq',
  'at',
  'actor',
  'ip',
  'action',
  'target_kind',
  'target_id',
  'target_name',
  'result',
  'before',
  'after',
  'request_id',
  'session_id',
  'by_token',
  'hash',
] as const
const narrowed = z.strictObject(narrowingOf(audit))
const whole =
  'oldest first. If the export can not be completed, the connection is cut, so that a part is not taken for the whole. The export is itself audited.'
export const auditCsv = {
  ...operation('auditCsv', 'GET /v1/audit/csv', 'users:manage', {
    summary: `The matching entries of the audit log as CSV, ${whole}`,
    query: narrowed,
    answer: z.string(),
    media: 'text/csv',
  }),
  meanings: meaningsOf(audit),
}
export const auditNdjson = {
  ...operation('auditNdjson', 'GET /v1/audit/ndjson', 'users:manage', {
    summary: `The matching entries of the audit log as JSON, one object per line, ${whole}`,
    query: narrowed,
    answer: z.string(),
    media: 'application/x-ndjson',
  }),
  meanings: meaningsOf(audit),
}

/** Number and hash of an entry. */
export interface AuditHead {
  readonly seq: number
  readonly hash: string
}
const headPattern = /^([0-9a-f]{64})@([1-9]\d{0,14})$/
/**
 * Reads a noted entry: `HASH@SEQ`, as in the log line `audit.head` and in the result of a
 * verification. Undefined if the text is none.
 */
export function readAuditHead(text: string): AuditHead | undefined {
  const match = headPattern.exec(text)
  return match ? { hash: match[1]!, seq: Number(match[2]) } : undefined
}
export const auditHeadHint =
  '64 hexadecimal digits, @, and the number of the entry, as in the log line audit.head'

/**
 * A line of the response of `auditVerify`. The last line is not `checking`; without it, the
 * verification was interrupted.
 */
export type AuditCheck =
  /** `of`: the number of entries when the verification began. */
  | { readonly state: 'checking'; readonly checked: number; readonly of: number }
  /**
   * `unkeyed`: number of older entries, whose hashes were computed without a key. `head`: the last
   * entry, as `HASH@SEQ`; null if there is none.
   */
  | {
      readonly state: 'intact'
      readonly entries: number
      readonly unkeyed: number
      readonly head: string | null
    }
  /**
   * `seq`: number of the first wrong entry. `reason`: continues a sentence that begins with "Entry"
   * and this number.
   */
  | { readonly state: 'broken'; readonly seq: number; readonly reason: string }
  /** The check could not be completed, for this reason. */
  | { readonly state: 'failed'; readonly reason: string }

export const auditVerify = operation('auditVerify', 'GET /v1/audit/verification', 'users:manage', {
  summary:
    'Verify the hash chain of the whole audit log. Each line of the response is a JSON object with a `state`: `checking` with the progress, and at the end `intact`, `broken` or `failed`.',
  query: z.strictObject({
    head: z.optional(z.string().check(z.regex(headPattern, `Expected ${auditHeadHint}`))),
  }),
  answer: z.string(),
  media: 'application/x-ndjson',
})

/** The result of a verification in words. */
export function auditVerdict(check: Exclude<AuditCheck, { state: 'checking' }>): string {
  if (check.state === 'failed') return `The audit log could not be checked: ${check.reason}`
  if (check.state === 'broken')
    return `The audit log is not intact: entry ${check.seq} ${check.reason}`
  const older =
    check.unkeyed === 0
      ? ''
      : `, the first ${count(check.unkeyed)} of them written before the chain had a key`
  return `The audit log is intact: ${counted(check.entries, 'entry', 'entries')}${older}`
}

/** Words for the API documentation. */
export const words: Words = {
  objects: {
    AuditRow: [AuditRow, 'An entry of the audit log in a list.'],
    AuditEntry: [
      AuditEntry,
      'An action: the actor, the action, the object, the time, the source address and the result. Each entry contains the hash of the previous entry.',
    ],
  },
  fields: {
    seq: 'Number of the entry.',
    head: 'A noted entry that the chain must contain, as `HASH@SEQ`: the result of an earlier verification, or the log line `audit.head`.',
  },
}
