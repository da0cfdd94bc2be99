/** What can be done to many servers at once. */
import * as z from 'zod/mini'
import { talosVersionText } from '../versions.ts'
import { counted } from '../words.ts'

interface Row {
  /** Label of the action, and the beginning of the steps' titles ("Reboot calm-otter-101"). */
  readonly title: string
  /** "reboot of 12 servers" */
  readonly what: string
  /** "was not rebooted" */
  readonly done: string
  /** The number of servers has to be typed. */
  readonly danger: boolean
}

export const bulkActs = {
  reboot: { title: 'Reboot', what: 'reboot', done: 'rebooted', danger: false },
  restart_kubelet: {
    title: 'Restart kubelet',
    what: 'restart of the kubelet',
    done: 'restarted',
    danger: false,
  },
  upgrade: { title: 'Upgrade Talos', what: 'Talos upgrade', done: 'upgraded', danger: false },
  reset: { title: 'Reset to maintenance', what: 'reset', done: 'reset', danger: true },
  remove: { title: 'Remove', what: 'removal', done: 'removed', danger: true },
} as const satisfies Record<string, Row>

export type BulkActKind = keyof typeof bulkActs
export const bulkActKinds = Object.keys(bulkActs) as BulkActKind[]

export const BulkAct = z
  .strictObject({
    kind: z.enum(bulkActKinds),
    /** For a reset. */
    keep_workload_disks: z._default(z.boolean(), false),
    /** Of an upgrade: what the clusters get. */
    talos_version: z.optional(talosVersionText()),
    /** For an upgrade: each cluster waits for its maintenance window. */
    in_window: z._default(z.boolean(), false),
  })
  .check(
    z.refine(({ kind, talos_version: v }) => (v !== undefined) === (kind === 'upgrade'), {
      error: 'An upgrade, and no other act, has a Talos version',
      path: ['talos_version'],
    }),
  )
export type BulkAct = z.infer<typeof BulkAct>

/** "reboot of 12 servers" */
export const bulkWords = (kind: BulkActKind, servers: number): string =>
  `${bulkActs[kind].what} of ${counted(servers, 'server')}`

/** The key of a server's step. */
export const bulkStep = (kind: BulkActKind, serverId: string): string => `act/${kind}/${serverId}`
/** The act of an operation on many servers. */
export const bulkKindOf = ({ steps }: { readonly steps: readonly { readonly key: string }[] }) =>
  steps[0]!.key.split('/')[1] as BulkActKind
/** The name of the server of a step, with which its title ends. */
export const bulkServerName = ({ title }: { readonly title: string }, kind: BulkActKind): string =>
  title.slice(bulkActs[kind].title.length + 1)

interface Left {
  readonly steps: readonly { readonly node_id: string | null; readonly status: string }[]
}
/** The servers on which an ended act on many was not carried out. */
export const leftOver = ({ steps }: Left): string[] =>
  steps.flatMap(({ node_id, status }) =>
    node_id !== null && (status === 'failed' || status === 'skipped') ? [node_id] : [],
  )
