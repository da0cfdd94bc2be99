/**
 * Steelyard's own backups in a store: the file of `steelyard backup`, written on request and by a
 * schedule. The passphrase is in a file on Steelyard's machine.
 */
import * as z from 'zod/mini'
import { codeText, lineText, personText, sentenceText } from '../bounds/fields.ts'
import { NewSnapshotSchedule } from '../clusters/changes/snapshot-schedule.ts'
import { SnapshotSchedule, snapshotStatuses } from '../clusters/changes/snapshots.ts'
import { list } from '../list.ts'
import { callsOf } from '../object-calls.ts'
import { operation, type Words } from '../operation.ts'
import { changed, time } from '../page.ts'
import { forNow, no, type Verdict, yes } from '../rule.ts'

export const Backup = z.object({
  id: z.uuid(),
  store: z.object({ id: z.uuid(), name: codeText }),
  /** Name of the file in the store. */
  key: lineText,
  status: z.enum(snapshotStatuses),
  /** What the backup waits for, or why it failed or can't be removed. */
  reason: z.nullable(sentenceText),
  made_by: z.enum(['request', 'schedule', 'import']),
  created_by: z.nullable(personText),
  taken_at: z.nullable(time),
  /** Bytes of the encrypted file. */
  size_bytes: z.nullable(z.int()),
  verified_at: z.nullable(time),
  ...changed,
})
export type Backup = z.infer<typeof Backup>

const backups = list<Backup>()({
  nouns: ['backup', 'backups'],
  columns: {
    id: { label: 'Id', kind: 'mono', hidden: true, value: (b: Backup) => b.id },
    taken_at: { label: 'Taken', kind: 'time', sort: true, value: (b: Backup) => b.taken_at },
    status: { label: 'Status', kind: 'word', sort: true, value: (b: Backup) => b.status },
    size: { label: 'Size', kind: 'memory', sort: true, value: (b: Backup) => b.size_bytes },
    store: { label: 'Store', value: (b: Backup) => b.store.name },
    key: { label: 'File', kind: 'mono', value: (b: Backup) => b.key },
    made_by: { label: 'By', kind: 'word', value: (b: Backup) => b.made_by },
    reason: { label: 'Reason', value: (b: Backup) => b.reason },
    created_at: {
      label: 'Begun',
      kind: 'time',
      sort: true,
      hidden: true,
      value: (b: Backup) => b.created_at,
    },
  },
  filters: {
    status: { label: 'Status', help: 'Only backups with this status', choices: snapshotStatuses },
  },
  order: '-created_at',
})

/**
 * Whether the file can be read and checked. A backup that was ready before it failed has a size, and
 * can be ready again: its file may be back, or the store may have been at fault.
 */
export const canVerifyBackup = ({
  status,
  reason,
  size_bytes,
}: Pick<Backup, 'status' | 'reason' | 'size_bytes'>): Verdict => {
  if (status === 'ready' || (status === 'failed' && size_bytes !== null)) return yes
  if (status === 'failed') return no(`The backup failed${reason === null ? '' : `: ${reason}`}`)
  return status === 'taking'
    ? forNow('The backup is still being taken')
    : no('The backup is being removed')
}

const calls = callsOf(
  'backup',
  '/v1/backups',
  { read: 'users:manage', write: 'users:manage' },
  Backup,
)
export const backupList = calls.list(backups, "Steelyard's own backups in stores, newest first.")
export const backupGet = calls.get('One backup.')
export const backupCreate = calls.create({
  summary:
    'Write a backup of Steelyard to a store, and read it back. The response arrives before the backup is complete.',
  body: z.strictObject({ store_id: z.uuid('Choose a store') }),
  errors: ['not_found', 'transition_refused'],
})
export const backupRemove = operation('backupRemove', 'DELETE /v1/backups/{id}', 'users:manage', {
  summary: 'Remove a backup and its file.',
  proof: true,
  errors: ['stale'],
})
export const backupVerify = operation(
  'backupVerify',
  'POST /v1/backups/{id}/verify',
  'users:manage',
  {
    summary: 'Read a backup from its store as a whole, open it with the passphrase and check it.',
    kept: true,
    readsFile: true,
    answer: Backup,
    errors: ['transition_refused', 'store_refused'],
  },
)

export const backupScheduleGet = operation(
  'backupScheduleGet',
  'GET /v1/backup-schedule',
  'users:manage',
  {
    summary: 'The schedule of the backups of Steelyard; null if there is none.',
    answer: z.object({ schedule: z.nullable(SnapshotSchedule) }),
  },
)
export const backupScheduleSet = operation(
  'backupScheduleSet',
  'PUT /v1/backup-schedule',
  'users:manage',
  {
    summary: 'Set the schedule of the backups of Steelyard.',
    body: NewSnapshotSchedule,
    answer: SnapshotSchedule,
    errors: ['stale', 'not_found', 'transition_refused'],
  },
)
export const backupScheduleRemove = operation(
  'backupScheduleRemove',
  'DELETE /v1/backup-schedule',
  'users:manage',
  {
    summary: 'Remove the schedule of the backups of Steelyard. The backups stay.',
    errors: ['stale', 'not_found'],
  },
)

/** Words for the API documentation. */
export const words: Words = {
  objects: {
    Backup: [Backup, 'A backup of Steelyard itself in a store.'],
  },
  fields: {
    at_hour: 'Hour of the day, UTC, of the first snapshot; the others follow at the interval.',
    every_hours: 'Hours between two snapshots: 1, 2, 3, 4, 6, 8, 12, 24, 48, 72 or 168.',
    keep_count: 'How many snapshots of the schedule are kept; null: not limited.',
    keep_days:
      'How many days a snapshot of the schedule is kept; null: not limited. The newest is always kept.',
    paused: 'True: the schedule takes no snapshots.',
  },
  bodies: {
    backupCreate: { store_id: '00000000-0000-4000-8000-000000000009' },
    backupScheduleSet: {
      store_id: '00000000-0000-4000-8000-000000000009',
      every_hours: 24,
      keep_count: 30,
    },
  },
}
