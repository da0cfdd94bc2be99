/**
 * Changes of a running cluster. Two calls serve every kind of change: `clusterPlan`, which only
 * reads, and `clusterChange`, which starts an operation. A change can wait for a time or for the
 * cluster's maintenance window.
 */
import * as z from 'zod/mini'
import { ConfirmedDisks, DiskToConfirm } from '../../disks/disks.ts'
import { operation, type Words } from '../../operation.ts'
import { ConfirmedLoss, ServerLoss } from '../../servers/losses.ts'
import { begun, type OperationKind } from '../../operations.ts'
import { time } from '../../page.ts'
import { hasPatches } from '../../patches.ts'
import { waitLimits, waitLimitText } from '../../rule.ts'
import { Check, Cluster } from '../clusters.ts'
import { Grow, Replace, Role, Shrink } from './members.ts'
import { Configure } from './configure.ts'
import { ChangeDisks } from './disks.ts'
import { MoveToDocuments } from './documents.ts'
import { ChangeEndpoint } from './endpoint.ts'
import { UpgradeKubernetes } from './kubernetes-upgrade.ts'
import { Remedy } from './remedies.ts'
import { Rotate } from './rotate.ts'
import { RestoreCluster, TakeSnapshot } from './snapshots.ts'
import { changeTable } from './table.ts'
import { Extensions, RollbackTalos, UpgradeTalos } from './talos-upgrade.ts'
import { MaintenanceWindow } from './window.ts'

/** Frees the disk space of deleted revisions, on one member of etcd at a time. */
export const Defragment = z.strictObject({ kind: z.literal('defragment') })

export const ClusterChange = z.discriminatedUnion('kind', [
  Defragment,
  Grow,
  Shrink,
  Role,
  Replace,
  UpgradeTalos,
  Extensions,
  RollbackTalos,
  Configure,
  UpgradeKubernetes,
  MoveToDocuments,
  ChangeEndpoint,
  ChangeDisks,
  Rotate,
  TakeSnapshot,
  RestoreCluster,
])
export type ClusterChange = z.output<typeof ClusterChange>
/** A change in the body of a call: fields with defaults may be left out. */
export type ClusterChangeInput = z.input<typeof ClusterChange>
export type ChangeKindName = ClusterChange['kind']
export type ChangeOf<K extends ChangeKindName> = Extract<ClusterChange, { kind: K }>

type ChangeOperation = keyof typeof changeTable
/** The kind of operation that carries out a kind of change. */
export const changeOperations = Object.fromEntries(
  Object.entries(changeTable).map(([kind, { change }]) => [change, kind]),
) as Record<ChangeKindName, ChangeOperation>
export const isChange = (kind: OperationKind): kind is ChangeOperation =>
  Object.hasOwn(changeTable, kind)

/**
 * The steps on one server, or steps that concern the whole cluster. Groups run one after another. A
 * change can be cancelled between two groups.
 */
export const PlanGroup = z.object({
  /** null: the whole cluster. */
  node_id: z.nullable(z.uuid()),
  name: z.nullable(z.string()),
  /** Whether the workload is moved off the server first. */
  drains: z.boolean(),
  reboots: z.enum(['yes', 'no', 'unknown']),
  steps: z.array(z.object({ key: z.string(), title: z.string() })),
  /** How long these steps took in earlier changes of this cluster, in seconds; null if unknown. */
  took_s: z.nullable(z.number()),
})
export type PlanGroup = z.infer<typeof PlanGroup>

/** `remedies`: other changes that settle the reason of a failed check, the best one first. */
const PlanCheck = z.extend(Check, { remedies: z.optional(z.array(Remedy)) })
export type PlanCheck = z.infer<typeof PlanCheck>

export const ClusterPlan = z.object({
  kind: z.string(),
  /** The change can begin only if all of them are `ok`. */
  checks: z.array(PlanCheck),
  warnings: z.array(z.string()),
  groups: z.array(PlanGroup),
  /** Disks that the change wipes and whose content must be confirmed. */
  disks: z.array(DiskToConfirm),
  /** Servers that Steelyard would no longer reach afterwards, whose loss must be confirmed. */
  losses: z.array(ServerLoss),
  /** What changes in the configurations of servers, as a unified difference with secrets masked. */
  differences: z.array(z.object({ node_id: z.uuid(), name: z.string(), diff: z.string() })),
  took_s: z.nullable(z.number()),
  /** Digest of the plan. A change with this digest is refused if its plan is different by then. */
  seen: z.string(),
})
export type ClusterPlan = z.infer<typeof ClusterPlan>

/**
 * Whether the change brings patches to servers. These may change anything on a server, so it also
 * needs the scope of `patchCreate`.
 */
export const carriesPatches = (change: ClusterChange): boolean =>
  change.kind === 'configure' ||
  (change.kind === 'grow' && hasPatches(change.servers)) ||
  (change.kind === 'replace' && hasPatches([change.by]))

export const clusterPlan = operation(
  'clusterPlan',
  'POST /v1/clusters/{id}/plan',
  'clusters:write',
  {
    summary:
      'What a change of a cluster would do: its checks, and the steps per server in their order. Only reads; changes nothing. A change with patches also needs servers:write.',
    body: z.strictObject({ change: ClusterChange }),
    answer: ClusterPlan,
    errors: ['cluster_not_ready', 'not_eligible'],
  },
)

/**
 * When a change begins. Without both fields it begins at once. With both it begins in the first
 * window after `at`.
 */
export const ChangeStart = z.strictObject({
  at: z.optional(time),
  /** True: the work on a server starts only while the cluster's maintenance window is open. */
  in_window: z._default(z.boolean(), false),
})
export type ChangeStart = z.infer<typeof ChangeStart>

export const clusterChange = operation(
  'clusterChange',
  'POST /v1/clusters/{id}/changes',
  'clusters:write',
  {
    summary:
      'Change a running cluster: at once, at a given time, or in its maintenance window. A change with patches also needs servers:write.',
    body: z.strictObject({
      change: ClusterChange,
      /** The plan's `seen`. */
      seen: z.optional(
        z
          .string()
          .check(z.regex(/^[0-9a-f]{64}$/, 'Use the `seen` value of the plan that you looked at')),
      ),
      start: z.optional(ChangeStart),
      confirmed_disks: ConfirmedDisks,
      confirmed_loss: ConfirmedLoss,
    }),
    answer: begun,
    errors: [
      'cluster_not_ready',
      'operation_running',
      'transition_refused',
      'not_eligible',
      'server_taken',
      'disk_not_confirmed',
      'loss_not_confirmed',
      'stale',
      'held_by_files',
    ],
  },
)

export const clusterWindowSet = operation(
  'clusterWindowSet',
  'PUT /v1/clusters/{id}/window',
  'clusters:write',
  {
    summary: "Set or remove the cluster's maintenance window.",
    body: z.strictObject({ window: z.nullable(MaintenanceWindow) }),
    answer: Cluster,
    errors: ['operation_running', 'stale', 'held_by_files'],
  },
)

/** Fields of a change, in the calls that plan and start it. */
const ofChange = {
  force:
    'True: remove a server that does not answer without resetting it. It is reset as soon as it answers.',
  role: 'Role of the server in the cluster.',
  servers: 'The servers that are added, are removed, or change their role.',
}

/** Words for the API documentation. */
export const words: Words = {
  objects: {
    ClusterPlan: [
      ClusterPlan,
      'The steps of a change of a cluster in their order, and whether it can begin.',
    ],
  },
  fields: {
    mends:
      'Names of control planes that are not well and that this change mends. They are changed first, and their problems do not stop the change.',
    roll_out:
      'Id of a roll-out of a shared patch, which begins such a change itself; `patches` and `remove` are then empty.',
    take_back:
      'Id of an earlier change of patches of this cluster: its patches become again what they were before it on each server.',
    stage: 'True: each server installs the new version during its next boot.',
    canary: 'Id of the server that is upgraded first.',
    change: 'The change: its `kind` and the fields of that kind.',
    node_ids: 'Ids of the servers that are changed, in the order of the change. Default: all.',
    at: 'Time before which the change does not begin.',
    in_window:
      "True: the work on a server starts only while the cluster's maintenance window is open.",
    by: 'The new server, which gets the role of the replaced one.',
    'clusterPlan.force': ofChange.force,
    'clusterChange.force': ofChange.force,
    'clusterPlan.role': ofChange.role,
    'clusterChange.role': ofChange.role,
    'clusterPlan.servers': ofChange.servers,
    'clusterChange.servers': ofChange.servers,
    start: `When the change begins. Default: at once. What is only silent, busy or not ready by then is waited for: until the maintenance window closes, or without one for at most ${waitLimitText(waitLimits.scheduled)}.`,
    what: 'What to rotate. Talos cannot replace `service_account`, `encryption_keys` and `etcd_ca`; the plan says why.',
    window: 'The maintenance window; null removes it.',
    'clusterChange.seen':
      'The `seen` value of the plan. The request is refused if the plan has changed since.',
    of: "Name of the snapshot's cluster. Required if that is another cluster, as a confirmation.",
    reset:
      'Ids of the control planes whose etcd is wiped. Every control plane that answers and has etcd data must be listed.',
    snapshot:
      'False: no snapshot of etcd is taken before the upgrade. Without a store none is taken either; the plan says so.',
    snapshot_id: 'Id of the snapshot.',
    accept_removed_apis:
      'True: upgrade even if programs still use APIs that the new version no longer serves.',
    accept_unchecked: "True: continue even if Steelyard can't reach the new endpoint.",
    drain: 'True: move the workload off each server before its kubelet is updated.',
    add: 'Disks that become workload disks, by id or path.',
    remove: 'Patches to remove, by name, or disks to remove, by id or path.',
    wipe: 'True: wipe the removed disks.',
    patches: 'Patches that each server gets. A patch of the same name is replaced.',
  },
  bodies: {
    clusterChange: { change: { kind: 'defragment' }, start: { in_window: true } },
    clusterPlan: { change: { kind: 'defragment' } },
    clusterWindowSet: {
      window: { days: ['sat', 'sun'], from: '02:30', minutes: 240, time_zone: 'Europe/Warsaw' },
    },
  },
}
