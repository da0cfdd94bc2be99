/**
 * Operations: all work that outlives a request. An operation reports what it is doing, how far it
 * has come, and what it is waiting for.
 */
import * as z from 'zod/mini'
import { LeftOut } from './bounds/rows.ts'
import { lineText, personText, sentenceText } from './bounds/fields.ts'
import { changeTable } from './clusters/changes/table.ts'
import { joiningSteps, leavingSteps, subnetSteps, wholeSteps } from './clusters/steps.ts'
import { ConfirmedDisks, DiskToConfirm } from './disks/disks.ts'
import { KeptLoss } from './servers/losses.ts'
import {
  commandEnds,
  type MachineCommand,
  machineCommandKinds,
  machineCommands,
} from './servers/machine-commands.ts'
import { list } from './list.ts'
import { callsOf } from './object-calls.ts'
import { operation, type Words } from './operation.ts'
import { PowerOrder } from './bmcs/order.ts'
import { time } from './page.ts'
import type { Scope } from './permissions.ts'
import { no, type Verdict, yes } from './rule.ts'

interface KindRow {
  /** Title for users, followed by the name of the target. */
  readonly title: string
  readonly target: 'server' | 'cluster' | 'datacenter' | 'shared_patch'
  /** Scope for seeing the operation (`:read`), and for cancelling or retrying it (`:write`). */
  readonly scope: 'servers' | 'clusters'
  /** Scope for cancelling and retrying it, if not the write scope of `scope`. */
  readonly write?: Scope
  /**
   * Stored as JSON with the operation for its reconciler; never a secret. Every argument has a
   * default, because older versions stored no arguments.
   */
  readonly arguments?: z.ZodMiniObject
  /** Titles of the operation's steps by their keys. */
  readonly steps: Readonly<Record<string, (about: never) => string>>
  /** The action in the audit log for the request of the operation. */
  readonly audit: `${string}.${string}`
  /** The text for the request in the events of the target; see `auditSentence`. */
  readonly event: string
  /** The operation's command in the CLI. */
  readonly command: string
}

type Named = { readonly name: string }

const onServer = { target: 'server', scope: 'servers' } as const
const onCluster = { target: 'cluster', scope: 'clusters' } as const
const onSharedPatch = {
  target: 'shared_patch',
  scope: 'servers',
  arguments: z.object({
    in_window: z._default(z.boolean(), false),
    confirmed_loss: KeptLoss,
    /** The set of files that requested it: clusters that these files hold are changed. */
    applied_set: z._default(z.nullable(z.string()), null),
  }),
} as const
const onLeaving = {
  ...onServer,
  arguments: z.object({ keep_workload_disks: z._default(z.boolean(), false) }),
} as const
const clusterSteps = { ...joiningSteps, ...leavingSteps, ...wholeSteps }

const onCommanded = {
  ...onServer,
  /**
   * `waits`: nobody watches it, so that it waits for a server that doesn't answer. What a person
   * sends alone ends then, because it would surprise people later.
   */
  arguments: z.object({
    waits: z._default(z.boolean(), false),
    /**
     * The id of the boot in which a reboot was sent, written right before that. If the end of the
     * sending is unknown, it shows whether the machine has rebooted.
     */
    sent_in_boot: z._default(z.nullable(z.string()), null),
  }),
} as const

const machineKind = (kind: MachineCommand) => {
  const { title, until, audit, event, verb } = machineCommands[kind]
  const steps = {
    command: (s: Named) => `Tell ${s.name} to ${title.charAt(0).toLowerCase()}${title.slice(1)}`,
    [until]: commandEnds[until],
  }
  return {
    ...onCommanded,
    title,
    steps,
    audit,
    event,
    command: `server ${verb}`,
  }
}
const machineKinds = Object.fromEntries(
  machineCommandKinds.map((kind) => [kind, machineKind(kind)]),
) as Record<MachineCommand, ReturnType<typeof machineKind>>

/**
 * Every kind of operation, by the name of the call that starts it; a change of a cluster is started
 * by `clusterChange`.
 */
export const operationTable = {
  serverAdd: {
    title: 'Add servers',
    target: 'datacenter',
    scope: 'servers',
    /** `scan`: a whole network is scanned, so an address without a server is no failure. */
    arguments: z.object({
      datacenter_id: z._default(z.nullable(z.uuid()), null),
      scan: z._default(z.boolean(), false),
    }),
    steps: { probe: (s: { readonly address: string }) => `Probe ${s.address}` },
    audit: 'server.add_requested',
    event: 'Adding servers was requested',
    command: 'server add',
  },
  ...machineKinds,
  serverReset: {
    ...onLeaving,
    title: 'Reset',
    steps: leavingSteps,
    audit: 'server.reset_requested',
    event: 'A reset was requested',
    command: 'server reset',
  },
  serverRemove: {
    ...onServer,
    title: 'Remove',
    steps: { remove: (s: Named) => `Remove ${s.name}` },
    audit: 'server.removed',
    event: 'Removed',
    command: 'server remove',
  },
  serverBulk: {
    ...onServer,
    /** A `BulkAct` without its kind, which its reconciler parses, and the set of files. */
    arguments: z.looseObject({ applied_set: z._default(z.nullable(z.string()), null) }),
    title: 'Bulk',
    /** The key of a step has the act and the server: `act/reboot/<id>`. */
    steps: { act: (s: Named & { readonly act: string }) => `${s.act} ${s.name}` },
    audit: 'server.bulk_requested',
    event: 'An act on many servers was requested[: {kind}, {servers} servers]',
    command: 'server reboot',
  },
  bmcAdd: {
    title: 'Add BMCs',
    target: 'datacenter',
    scope: 'servers',
    write: 'bmc:manage',
    /** `scan`: a whole network is looked at, so an address without a BMC is no failure. */
    arguments: z.object({
      datacenter_id: z._default(z.nullable(z.uuid()), null),
      credential_id: z._default(z.nullable(z.uuid()), null),
      port: z._default(z.int(), 443),
      scan: z._default(z.boolean(), false),
    }),
    steps: { probe: (s: { readonly address: string }) => `Look at ${s.address}` },
    audit: 'bmc.add_requested',
    event: 'Adding BMCs was requested',
    command: 'bmc add',
  },
  serverPower: {
    ...onServer,
    write: 'power:write',
    arguments: z.object(PowerOrder.shape),
    title: 'Switch',
    steps: {
      off: (s: Named) => `Tell the BMC of ${s.name} to switch it off`,
      is_off: (s: Named) => `${s.name} is off`,
      on: (s: Named) => `Tell the BMC of ${s.name} to switch it on`,
      is_on: (s: Named) => `${s.name} is on`,
    },
    audit: 'server.power_requested',
    event:
      'Switching it was requested[: {to}, {kind}][ against the majority of etcd, because: {override}]',
    command: 'server power',
  },
  clusterCreate: {
    ...onCluster,
    title: 'Create cluster',
    steps: clusterSteps,
    audit: 'cluster.created',
    event: 'Created',
    command: 'cluster create',
  },
  clusterDelete: {
    ...onCluster,
    title: 'Delete cluster',
    steps: clusterSteps,
    audit: 'cluster.delete_requested',
    event: 'Its deletion was requested',
    command: 'cluster delete',
  },
  clusterImport: {
    ...onCluster,
    title: 'Take over cluster',
    steps: { import: (c: Named) => `Take over ${c.name}` },
    audit: 'cluster.imported',
    event: 'Taken over',
    command: 'cluster import',
  },
  clusterServerReplace: {
    ...onCluster,
    title: 'Replace a server of',
    steps: clusterSteps,
    audit: 'cluster.server_replaced',
    event: 'A server was replaced[: {replaced} by {by}]',
    command: 'cluster replace',
  },
  clusterSubnetsAssign: {
    ...onCluster,
    title: 'Change subnets of',
    steps: subnetSteps,
    audit: 'cluster.subnets_assigned',
    event: 'Its subnets were changed[: {subnets}]',
    command: 'subnet assign',
  },
  sharedPatchRollOut: {
    ...onSharedPatch,
    title: 'Roll out shared patch',
    steps: { 'roll-out': (s: Named) => `Change the patches of ${s.name}` },
    audit: 'shared_patch.roll_out_requested',
    event: 'Its roll-out was requested',
    command: 'shared-patch roll-out',
  },
  sharedPatchUndo: {
    ...onSharedPatch,
    title: 'Undo the roll-out of shared patch',
    steps: { 'roll-out': (s: Named) => `Take back the change of the patches of ${s.name}` },
    audit: 'shared_patch.undo_requested',
    event: 'The undo of its last roll-out was requested',
    command: 'shared-patch undo',
  },
  ...changeTable,
} as const satisfies Record<string, KindRow>

export type OperationKind = keyof typeof operationTable
type KindWith<A> = {
  [K in OperationKind]: (typeof operationTable)[K] extends { readonly arguments: A } ? K : never
}[OperationKind]
export type KindWithArguments = KindWith<z.ZodMiniObject>
export type ArgumentsOf<K extends KindWithArguments> = z.output<
  (typeof operationTable)[K]['arguments']
>
export const operationKinds = Object.keys(operationTable) as OperationKind[]

export const operationStatuses = [
  'pending',
  'running',
  'waiting',
  'cancelling',
  'cancelled',
  'failed',
  'done',
] as const
export type OperationStatus = (typeof operationStatuses)[number]
const stepStatuses = ['todo', 'running', 'waiting', 'done', 'failed', 'skipped'] as const
export type StepStatus = (typeof stepStatuses)[number]

export const Step = z.object({
  /** Unique in the operation; the key of a server's step ends with the server's id. */
  key: z.string(),
  title: z.string(),
  node_id: z.nullable(z.uuid()),
  status: z.enum(stepStatuses),
  /** Number of attempts, including the current one. 0 before the step starts. */
  attempt: z.int(),
  started_at: z.nullable(time),
  ended_at: z.nullable(time),
  /** What the step is waiting for, or why it failed or was skipped. */
  reason: z.nullable(z.string()),
})
export type Step = z.infer<typeof Step>

export const Operation = z.object({
  id: z.uuid(),
  kind: z.enum(operationKinds),
  target: z.object({
    kind: z.enum(['server', 'cluster', 'datacenter', 'shared_patch']),
    id: z.nullable(z.uuid()),
    name: lineText,
  }),
  status: z.enum(operationStatuses),
  reason: z.nullable(sentenceText),
  created_by: z.nullable(personText),
  created_at: time,
  /** When a scheduled change begins at the earliest. */
  starts_at: z.optional(z.nullable(time)),
  /** Whether the change runs only while the maintenance window of its cluster is open. */
  in_window: z.optional(z.boolean()),
  /**
   * True: its work has ended Steelyard three times in a row while nothing else ran, so it waits
   * until it is tried again (first after ten minutes, then once an hour) or a user resumes it.
   */
  halted: z.optional(z.boolean()),
  started_at: z.nullable(time),
  ended_at: z.nullable(time),
  steps: z.array(Step),
  /** Only in a list: names of the fields that it has left out (`bounds/rows.ts`). */
  left_out: LeftOut,
})
export type Operation = z.infer<typeof Operation>

/** Title of a kind of operation: "Create cluster", "Replace a server". */
const kindTitle = (kind: OperationKind): string =>
  operationTable[kind].title.replace(/ (?:of|to|from)$/, '')
/** Titles of all kinds. */
export const kindTitles = Object.fromEntries(
  operationKinds.map((kind) => [kind, kindTitle(kind)]),
) as Record<OperationKind, string>

/** Title of an operation: "Create cluster poz-edge-04", "Add servers 10.0.4.0/24 to PL-POZ-1". */
export const operationTitle = ({ kind, target }: Pick<Operation, 'kind' | 'target'>): string =>
  `${operationTable[kind].title} ${target.name}`

/** The response of a call that started an operation. */
export const begun = z.object({ operation: Operation })

const ended: ReadonlySet<OperationStatus> = new Set(['cancelled', 'failed', 'done'])
export const hasEnded = (o: Pick<Operation, 'status'>): boolean => ended.has(o.status)
/** Whether the operation waits for its time or for the maintenance window, and has not begun. */
export const isScheduled = (
  o: Pick<Operation, 'status' | 'in_window'> & {
    readonly started_at: unknown
    readonly starts_at?: unknown
  },
): boolean =>
  !hasEnded(o) && o.started_at === null && (Boolean(o.starts_at) || o.in_window === true)

export function canCancelOperation(o: Pick<Operation, 'status'>): Verdict {
  if (hasEnded(o)) return no('The operation has already ended')
  return o.status === 'cancelling' ? no('The operation is already being cancelled') : yes
}

export const canRetryOperation = (o: Pick<Operation, 'status' | 'kind'>): Verdict => {
  if (o.status !== 'failed') return no('Only a failed operation can be retried')
  // Its servers have changed since, so they are planned, and a dangerous act is confirmed, anew.
  return o.kind === 'serverBulk' ? no('Plan it again for the servers that failed') : yes
}

const operations = list<Operation>()({
  nouns: ['operation', 'operations'],
  large: { steps: [] },
  mostPerPage: 200,
  columns: {
    id: { label: 'Id', kind: 'mono', hidden: true, value: (o: Operation) => o.id },
    kind: { label: 'Kind', value: (o: Operation) => o.kind },
    target: { label: 'Of', value: (o: Operation) => o.target.name },
    status: { label: 'Status', kind: 'word', value: (o: Operation) => o.status },
    created_at: { label: 'Begun', kind: 'time', sort: true, value: (o: Operation) => o.created_at },
    created_by: { label: 'By', value: (o: Operation) => o.created_by },
  },
  filters: {
    status: {
      label: 'Status',
      help: 'Only operations with this status; open: all that have not ended; in_progress: those of them that do not wait for their time',
      choices: [...operationStatuses, 'open', 'in_progress'],
    },
    kind: { label: 'Kind', help: 'Only operations of this kind', choices: kindTitles },
    target: {
      label: 'Of',
      help: 'Only operations on the server, cluster or datacenter with this id',
      schema: z.uuid(),
      placeholder: 'ID',
    },
    by: {
      label: 'By',
      help: 'Only operations that this user requested, by email',
      schema: z.string().check(z.maxLength(254)),
      placeholder: 'EMAIL',
    },
  },
  order: '-created_at',
})

const calls = callsOf(
  'operation',
  '/v1/operations',
  { read: 'signed_in', write: 'signed_in' },
  Operation,
)
export const operationList = calls.list(
  operations,
  'Operations on objects that the caller may see, newest first.',
)
export const operationGet = calls.get('One operation with its steps.')
export const operationCancel = operation(
  'operationCancel',
  'POST /v1/operations/{id}/cancel',
  'signed_in',
  {
    summary: 'Ask an operation to stop at the next safe point.',
    kept: true,
    answer: Operation,
    errors: ['operation_ended'],
  },
)
export const operationRetry = operation(
  'operationRetry',
  'POST /v1/operations/{id}/retry',
  'signed_in',
  {
    summary: 'Retry a failed operation from the step that failed.',
    kept: true,
    /** The user's confirmations to wipe disks whose current content wasn't confirmed before. */
    body: z.strictObject({ confirmed_disks: ConfirmedDisks }),
    answer: Operation,
    errors: ['operation_ended', 'operation_running', 'disk_not_confirmed'],
  },
)
export const operationRetryDisks = operation(
  'operationRetryDisks',
  'GET /v1/operations/{id}/retry',
  'signed_in',
  {
    summary:
      'Disks that a retry would wipe and whose current content is not confirmed yet. To confirm a disk, add its `by` to `confirmed_disks`.',
    answer: z.object({ items: z.array(DiskToConfirm) }),
  },
)

/** Words for the API documentation. */
export const words: Words = {
  objects: {
    Operation: [
      Operation,
      'Work that continues after the response: its steps, its progress and what it waits for.',
    ],
    Step: [Step, 'One step of an operation.'],
  },
  bodies: {
    operationRetry: {},
  },
}
