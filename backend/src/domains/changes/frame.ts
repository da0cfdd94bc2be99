/**
 * The frame of changes of a running cluster. A kind of change has a plan and the functions of its
 * steps. The reconciler (`reconcile.ts`) runs the steps in order, stores their progress in the
 * operation, and handles cancel, retry, schedules, time limits and crashes.
 */
import type {
  ChangeKindName,
  ChangeOf,
  PlanCheck,
  PlanGroup,
} from '#contract/clusters/changes/changes.ts'
import type { ClusterRole } from '#contract/clusters/clusters.ts'
import { Problem } from '#contract/errors.ts'
import type { Operation, Step } from '#contract/operations.ts'
import type { ConfirmedDisk } from '#contract/disks/disks.ts'
import type { ChosenDisks } from '#contract/disks/wipe.ts'
import type { LossConsent, ServerLoss } from '#contract/servers/losses.ts'
import type { TalosClient } from '#talos/client/client.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { Job } from '../../engine/engine.ts'
import type { Caller } from '../../http/caller.ts'
import type { Kubernetes } from '../../kubernetes/client.ts'
import type { ServerFacts } from '../servers/api.ts'
import { kubernetesOf, talosOf } from '../control-planes/api.ts'
import {
  type ClusterParts,
  holdCluster,
  type MemberRow,
  type ServerImages,
  type State,
} from '../clusters/api.ts'
import type { PlannedImages } from './members/images.ts'

/** The input of a plan. */
export interface ChangeView {
  readonly parts: ClusterParts
  readonly state: State
  /** Facts of the cluster's servers that have not left, by id. */
  readonly facts: ReadonlyMap<string, ServerFacts>
  readonly signal: AbortSignal
}

export interface PlannedGroup
  extends
    Pick<PlanGroup, 'node_id' | 'name' | 'steps'>,
    Partial<Pick<PlanGroup, 'drains' | 'reboots'>> {
  /** Role that the server has after the group; by default its role in the cluster. */
  readonly becomes?: ClusterRole
}

export interface Planned {
  /** The change can begin only if all are `ok`. */
  readonly checks: readonly PlanCheck[]
  readonly warnings?: readonly string[]
  readonly groups: readonly PlannedGroup[]
  /** Disks that the change wipes. */
  readonly disks?: readonly ChosenDisks[]
  /** Images of servers that join, other than those that they run. */
  readonly images?: PlannedImages
  /** Servers that Steelyard would no longer reach afterwards. */
  readonly losses?: readonly ServerLoss[]
  readonly differences?: readonly {
    readonly node_id: string
    readonly name: string
    readonly diff: string
  }[]
}

/**
 * A step that is called again. `isSafe`: a cancel may end the change here, before the group is done;
 * the group's remaining steps are skipped, except for `uncordon`, and the operation says what the
 * step waited for. `isUnsent`: the server has not got for good what the step sends, so that what
 * ails the server isn't what the step waits for.
 */
export interface Waiting {
  readonly waiting: string
  readonly againMs?: number
  readonly isSafe?: boolean
  readonly isUnsent?: true
}

/**
 * `isUnharmed`: the server of the step runs as before the change, so that
 * it may run workload.
 */
export type StepResult =
  | 'done'
  | { readonly skipped: string }
  | Waiting
  | { readonly failed: string; readonly isUnharmed?: boolean }

export interface ChangeTurn<C = unknown> {
  readonly parts: ClusterParts
  readonly job: Job
  readonly state: State
  readonly operation: Operation
  readonly change: C
  readonly confirmed: readonly ConfirmedDisk[]
  /** Names of servers that may be lost: they get their configuration without a trial. */
  readonly confirmedLoss: readonly LossConsent[]
  /** The set of files that the change carries out; null if none does. */
  readonly appliedSet: string | null
}

/** A step as its kind sees it. `nodeId` is null for a step of the whole cluster. */
export interface StepAt {
  readonly key: string
  readonly nodeId: string | null
  readonly step: Step
}

/**
 * A method, so that a kind counts as a kind of any change: the reconciler gives each kind only its
 * own changes.
 */
interface StepRunner<C> {
  run(turn: ChangeTurn<C>, at: StepAt): Promise<StepResult>
}

interface Sealed<C> {
  /** The change as stored in the operation's arguments: JSON without a plaintext secret. */
  close(parts: ClusterParts, tx: Tx, clusterId: string, change: C): Promise<unknown>
  /** The reverse of `store`. */
  open(parts: ClusterParts, on: Db | Tx, clusterId: string, stored: unknown): Promise<C>
}

export interface ChangeKind<C> {
  /**
   * Reads the database, the machines, etcd and Kubernetes; changes nothing. Called for a plan,
   * before the change is accepted, and before a scheduled change begins.
   */
  plan(view: ChangeView, change: C): Promise<Planned>
  /**
   * Runs in the transaction that begins the change: reserves servers, inserts rows. @throws Problem
   */
  begin?(
    tx: Tx,
    begun: {
      readonly view: ChangeView
      readonly caller: Caller
      readonly change: C
      readonly confirmed: readonly ConfirmedDisk[]
      /** Those of the plan. */
      readonly images?: ServerImages | undefined
      readonly operationId: string
    },
  ): Promise<void>
  /**
   * The function of each step, by the prefix of its key. Level-triggered: called again after every
   * wait and every crash.
   */
  readonly steps: Readonly<Record<string, StepRunner<C>['run']>>
  /**
   * Called when a cancel takes effect. null: the open steps are skipped, and the operation ends.
   * Otherwise the open steps are skipped, and the steps of these groups undo the change; then the
   * operation ends as cancelled. `go_on`: it is too late to undo, so the change continues to its
   * end.
   */
  undo?(turn: ChangeTurn<C>): Promise<readonly PlannedGroup[] | 'go_on' | null>
  /**
   * Makes the server's former configuration the wanted one again, which a step has replaced with one
   * that was not sent. Otherwise the server would get it later, although the change has ended.
   */
  takeBack?(turn: ChangeTurn<C>, nodeId: string): Promise<void>
  /** How a change with secrets is stored, because arguments of operations never contain secrets. */
  readonly sealed?: Sealed<C>
  /**
   * Prefixes of the steps that change a server so that a component of a control plane may not come
   * back. Each control plane is followed by a step that waits until it is well (`shared/gate.ts`).
   */
  readonly touches?: readonly string[]
  /**
   * Prefixes of `touches` after which a cancel can't end the wait, because the change then
   * continues to its end. Default: none.
   */
  readonly goesOnAfter?: readonly string[]
  /** Names of control planes that are not well and that the change is to mend. */
  mends?(change: C, state: Pick<State, 'members'>): readonly string[]
  /** The change only reads from the servers, so users may send them commands while it runs. */
  readonly isReadOnly?: true
  /** Runs in the transaction that ends the operation. */
  end?(tx: Tx, turn: ChangeTurn<C>, how: 'done' | 'failed' | 'cancelled'): Promise<void>
  /** Time after which a waiting step fails, in ms, by the step's prefix. Default: `patienceMs`. */
  readonly patienceMs?: Readonly<Record<string, number>>
}

export type ChangeKinds = { readonly [K in ChangeKindName]: ChangeKind<ChangeOf<K>> }

/** How long a step waits before it fails, in ms. */
export const patienceMs = 20 * 60_000

/** The key of a step about one server: `drain/<id>`. */
export const keyOf = (prefix: string, nodeId: string): string => `${prefix}/${nodeId}`
export const prefixOf = (key: string): string => key.split('/', 1)[0]!

/** A server was removed by force: its steps are skipped. */
export class HasLeft extends Problem {
  constructor(name: string) {
    super('not_found', `${name} has left the cluster`)
  }
}

/** The server of the cluster, which may be leaving. @throws HasLeft */
export function memberOf(
  { state }: Pick<ChangeTurn | ChangeView, 'state'>,
  nodeId: string,
): MemberRow {
  const m = state.members.find((one) => one.node_id === nodeId)
  if (m?.released_at !== null) throw new HasLeft(m?.name ?? 'The server')
  return m
}

/** How long a step has waited, in ms. Time in which Steelyard didn't run doesn't count. */
export const waitedMs = (
  job: Pick<Job, 'elapsedMs' | 'upMs'>,
  { started_at: at }: Pick<Step, 'started_at'>,
): number => (at === null ? 0 : Math.min(job.elapsedMs(Date.parse(at)), job.upMs()))

/** The view of a running change, for functions that are used by plans and by steps. */
export const viewOf = ({
  parts,
  state,
  job,
}: ChangeTurn): Pick<ChangeView, 'parts' | 'state' | 'signal'> => ({
  parts,
  state,
  signal: job.signal,
})

/** `talosOf` for a step. */
export const talos = <T>(
  turn: ChangeTurn,
  nodeId: string,
  act: (client: TalosClient) => Promise<T>,
  deadlineMs?: number,
): Promise<T> => talosOf(viewOf(turn), nodeId, act, deadlineMs)

/** The cluster's Kubernetes API. */
export const kubernetes = ({
  parts,
  state,
}: Pick<ChangeView, 'parts' | 'state'>): Promise<Kubernetes> => kubernetesOf(parts, state)

/**
 * A transaction that fails if another process has taken over the cluster's change. Locks the
 * cluster's row first. @throws Overtaken, FenceLost
 */
export const write = <T>({ job, state }: ChangeTurn, act: (tx: Tx) => Promise<T>): Promise<T> =>
  job.fence.write(async (tx) => {
    await holdCluster(tx, state.row)
    return act(tx)
  })
