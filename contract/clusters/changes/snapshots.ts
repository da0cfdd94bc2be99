/**
 * Snapshots of the etcd of clusters, and their schedules. A snapshot is `ready` only after it was
 * read back completely from its store. Its file is encrypted with the key of the key file.
 */
import * as z from 'zod/mini'
import {
  codeText,
  lineText,
  nameText,
  personText,
  sentenceText,
  wordText,
} from '../../bounds/fields.ts'
import { list } from '../../list.ts'
import { callsOf } from '../../object-calls.ts'
import { operation, type Words } from '../../operation.ts'
import { changed, time } from '../../page.ts'
import { ClusterServer } from '../clusters.ts'
import { forNow, no, type Verdict, yes } from '../../rule.ts'
import { NewSnapshotSchedule } from './snapshot-schedule.ts'

/**
 * `taking`: in progress, or waiting for the next attempt. `ready`: read back and verified.
 * `removing`: its file is being removed from the store.
 */
export const snapshotStatuses = ['taking', 'ready', 'failed', 'removing'] as const
const makers = ['request', 'schedule', 'import'] as const

export const Snapshot = z.object({
  id: z.uuid(),
  /** `name`: the name that the cluster had. The cluster may have been deleted since. */
  cluster: z.object({ id: z.uuid(), name: codeText }),
  store: z.object({ id: z.uuid(), name: codeText }),
  /** Name of the file in the store. */
  key: lineText,
  status: z.enum(snapshotStatuses),
  /** What the snapshot waits for, or why it failed or can't be removed. */
  reason: z.nullable(sentenceText),
  made_by: z.enum(makers),
  /** What it was taken for, such as `Before the upgrade to Talos v1.13.9`. */
  purpose: z.nullable(lineText),
  created_by: z.nullable(personText),
  /** Name of the control plane that it was read from; null for an imported file. */
  taken_from: z.nullable(nameText),
  taken_at: z.nullable(time),
  /** Storage version of etcd, such as `3.6.0`. Before etcd 3.6: the version of the etcd cluster. */
  etcd_version: z.nullable(codeText),
  revision: z.nullable(z.int()),
  /** UID of the namespace kube-system, which identifies the Kubernetes cluster. */
  identity: z.nullable(wordText),
  /** Bytes of the snapshot itself. */
  size_bytes: z.nullable(z.int()),
  /** SHA-256 of the snapshot itself. */
  sha256: z.nullable(wordText),
  /** When the file in the store was last read back completely. */
  verified_at: z.nullable(time),
  ...changed,
})
export type Snapshot = z.infer<typeof Snapshot>

const snapshots = list<Snapshot>()({
  nouns: ['snapshot', 'snapshots'],
  columns: {
    id: { label: 'Id', kind: 'mono', hidden: true, value: (s: Snapshot) => s.id },
    cluster: { label: 'Cluster', sort: true, value: (s: Snapshot) => s.cluster.name },
    taken_at: { label: 'Taken', kind: 'time', sort: true, value: (s: Snapshot) => s.taken_at },
    status: { label: 'Status', kind: 'word', sort: true, value: (s: Snapshot) => s.status },
    size: { label: 'Size', kind: 'memory', sort: true, value: (s: Snapshot) => s.size_bytes },
    revision: { label: 'Revision', kind: 'number', value: (s: Snapshot) => s.revision },
    etcd_version: { label: 'etcd', value: (s: Snapshot) => s.etcd_version },
    store: { label: 'Store', value: (s: Snapshot) => s.store.name },
    made_by: { label: 'By', kind: 'word', value: (s: Snapshot) => s.made_by },
    purpose: {
      label: 'For',
      help: 'What it was taken for',
      value: (s: Snapshot) => s.purpose,
    },
    verified_at: {
      label: 'Verified',
      help: 'When it was read back from its store',
      kind: 'time',
      hidden: true,
      value: (s: Snapshot) => s.verified_at,
    },
    reason: { label: 'Reason', value: (s: Snapshot) => s.reason },
    created_at: {
      label: 'Begun',
      kind: 'time',
      sort: true,
      hidden: true,
      value: (s: Snapshot) => s.created_at,
    },
  },
  filters: {
    cluster: {
      label: 'Cluster',
      help: 'Only snapshots of this cluster, by name or id',
      placeholder: 'CLUSTER',
    },
    status: { label: 'Status', help: 'Only snapshots with this status', choices: snapshotStatuses },
    store: {
      label: 'Store',
      help: 'Only snapshots in this store, by name or id',
      placeholder: 'STORE',
    },
  },
  order: '-created_at',
})

const calls = callsOf(
  'snapshot',
  '/v1/snapshots',
  { read: 'clusters:read', write: 'clusters:write' },
  Snapshot,
)
export const snapshotList = calls.list(snapshots, 'Snapshots of clusters, newest first.')
export const snapshotGet = calls.get('One snapshot.')
export const snapshotRemove = operation(
  'snapshotRemove',
  'DELETE /v1/snapshots/{id}',
  'clusters:write',
  {
    summary: 'Remove a snapshot and its file. A snapshot that is being taken is cancelled.',
    proof: true,
    errors: ['stale', 'operation_running'],
  },
)
export const snapshotVerify = operation(
  'snapshotVerify',
  'POST /v1/snapshots/{id}/verify',
  'clusters:write',
  {
    summary: 'Read the whole file of a snapshot from its store and check it.',
    kept: true,
    readsFile: true,
    answer: Snapshot,
    errors: ['transition_refused', 'store_refused'],
  },
)
export const snapshotDownload = operation(
  'snapshotDownload',
  'GET /v1/snapshots/{id}/file',
  'secrets:read',
  {
    summary:
      'The snapshot, decrypted, in the format of `etcdctl snapshot save`. If the file can not be read completely, the connection is closed early. The download is audited.',
    proof: true,
    answer: z.string(),
    media: 'application/octet-stream',
    errors: ['transition_refused', 'store_refused'],
  },
)
export const snapshotImport = operation(
  'snapshotImport',
  'POST /v1/clusters/{id}/snapshots',
  'clusters:write',
  {
    summary:
      'Import a file of `etcdctl snapshot save` from a store as a snapshot of the cluster. The file stays in the store; the snapshot is an encrypted copy.',
    body: z.strictObject({
      store_id: z.uuid(),
      /** Name of the file in the store, without the prefix of the store. */
      file: z
        .string()
        .check(
          z.trim(),
          z.maxLength(300),
          z.regex(
            /^[A-Za-z0-9_-][A-Za-z0-9._-]*(?:\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$/,
            'A file name can contain letters, digits, dots, hyphens and underscores, and slashes between folders',
          ),
        ),
    }),
    answer: Snapshot,
    status: 201,
    errors: ['not_found'],
  },
)

/** Whether a snapshot can be restored, downloaded or verified. */
export const canUseSnapshot = (s: Pick<Snapshot, 'status' | 'reason'>): Verdict => {
  if (s.status === 'ready') return yes
  if (s.status === 'failed')
    return no(`The snapshot failed${s.reason === null ? '' : `: ${s.reason}`}`)
  return s.status === 'taking'
    ? forNow('The snapshot is still being taken')
    : no('The snapshot is being removed')
}

/**
 * Whether the file can be read and checked. A snapshot that was ready before it failed can be ready
 * again: its file may be back, or the store may have been at fault.
 */
export const canVerifySnapshot = (s: Pick<Snapshot, 'status' | 'reason' | 'sha256'>): Verdict =>
  s.status === 'failed' && s.sha256 !== null ? yes : canUseSnapshot(s)

const minorOf = (version: string): number => Number(version.split('.')[1] ?? 0)

/**
 * Whether a cluster can read a snapshot of this etcd: etcd reads no data of a newer minor version.
 * An unknown version is accepted; etcd itself refuses it then. `made`: version of the snapshot's
 * data. `runs`: etcd of the cluster's Talos.
 */
export const canReadSnapshot = ({
  made,
  runs,
  talos,
}: {
  made: string | null
  runs: string | null
  talos: string
}): Verdict =>
  made !== null && runs !== null && minorOf(made) > minorOf(runs)
    ? no(
        `The snapshot was made by etcd ${made}, but Talos ${talos} runs etcd ${runs}, which can't read newer data: upgrade Talos first`,
      )
    : yes

export const SnapshotSchedule = z.object({
  store: z.object({ id: z.uuid(), name: z.string() }),
  every_hours: z.int(),
  at_hour: z.int(),
  keep_count: z.nullable(z.int()),
  keep_days: z.nullable(z.int()),
  paused: z.boolean(),
  /** When the next snapshot is due; null while the schedule is paused. */
  next_at: z.nullable(time),
  /** The newest snapshot that can be restored; null if there is none. */
  last_ready_at: z.nullable(time),
  /** Why the last snapshot of the schedule failed; null if it didn't. */
  problem: z.nullable(z.string()),
  ...changed,
})
export type SnapshotSchedule = z.infer<typeof SnapshotSchedule>

/**
 * Takes a snapshot now. Default store: the one of the cluster's schedule, otherwise the only store.
 */
export const TakeSnapshot = z.strictObject({
  kind: z.literal('snapshot'),
  store_id: z.optional(z.uuid()),
})

/**
 * Servers get no patches with the restore, because the arguments of an operation hold no secrets.
 */
const NewServer = z.omit(ClusterServer, { patch: true })

/**
 * Restores a cluster from a snapshot: on its own control planes, if their etcd is lost or may be
 * wiped, or on other servers, if all its servers are lost. The cluster keeps its secrets, its name
 * and its endpoint.
 */
export const RestoreCluster = z.strictObject({
  kind: z.literal('restore'),
  snapshot_id: z.uuid(),
  /**
   * The control planes whose etcd is wiped. Every control plane that answers and has data of etcd
   * must be named.
   */
  reset: z._default(z.array(z.uuid()).check(z.maxLength(16, 'At most 16 control planes')), []),
  /** Servers in maintenance mode that replace all servers of the cluster. */
  servers: z._default(z.array(NewServer).check(z.maxLength(500)), []),
  /** Name of the snapshot's cluster. Required if that is another cluster, as a confirmation. */
  of: z.optional(z.string().check(z.trim(), z.maxLength(25))),
})

const schedulePath = '/v1/clusters/{id}/snapshot-schedule'
export const snapshotScheduleGet = operation(
  'snapshotScheduleGet',
  `GET ${schedulePath}`,
  'clusters:read',
  {
    summary: "The schedule of the cluster's snapshots; null if there is none.",
    answer: z.object({ schedule: z.nullable(SnapshotSchedule) }),
  },
)
export const snapshotScheduleSet = operation(
  'snapshotScheduleSet',
  `PUT ${schedulePath}`,
  'clusters:write',
  {
    summary:
      "Set the schedule of the cluster's snapshots. Snapshots that the schedule no longer keeps are removed after the next one is ready.",
    body: NewSnapshotSchedule,
    answer: SnapshotSchedule,
    errors: ['stale', 'held_by_files'],
  },
)
export const snapshotScheduleRemove = operation(
  'snapshotScheduleRemove',
  `DELETE ${schedulePath}`,
  'clusters:write',
  {
    summary: "Remove the schedule of the cluster's snapshots. The snapshots stay.",
    errors: ['stale', 'held_by_files'],
  },
)

/** Words for the API documentation. */
export const words: Words = {
  objects: {
    Snapshot: [
      Snapshot,
      "A snapshot of a cluster's etcd in a store. Only a snapshot with the status `ready` can be restored.",
    ],
    SnapshotSchedule: [
      SnapshotSchedule,
      'When snapshots of a cluster are taken, and how long they are kept.',
    ],
  },
  fields: {
    file: 'Name of the file in the store, without the prefix of the store.',
    store: 'Only objects in this store, by name or id.',
  },
  bodies: {
    snapshotImport: {
      store_id: '00000000-0000-4000-8000-000000000009',
      file: 'import/snapshot.db',
    },
    snapshotScheduleSet: {
      store_id: '00000000-0000-4000-8000-000000000009',
      every_hours: 6,
      keep_count: 28,
    },
  },
}
