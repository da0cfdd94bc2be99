/**
 * What other domains may call of operations: they create, advance and end them in their own
 * transactions.
 */
import type {
  ArgumentsOf,
  KindWithArguments,
  Operation,
  OperationKind,
  OperationStatus,
  Step,
} from '#contract/operations.ts'
import type { Scope } from '#contract/permissions.ts'
import type { Verdict } from '#contract/rule.ts'
import type { ChosenDisks } from '#contract/disks/wipe.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { Job, Work } from '../../engine/engine.ts'
import type { HoldOwner } from '../../engine/holds.ts'
import type { Caller, SystemCaller, UserCaller } from '../../http/caller.ts'
import type { Change } from '../../record.ts'

export { demandFree, shownDisk } from './checks.ts'

type On = Db | Tx

export interface NewStep {
  readonly key: string
  readonly title: string
  readonly node_id?: string | null
  /** Progress copied from an earlier operation. */
  readonly before?: Pick<Step, 'status' | 'attempt' | 'started_at' | 'ended_at' | 'reason'>
}

export interface NewOperation {
  readonly kind: OperationKind
  /** The target's kind follows from the operation's kind (`operationTable`). */
  readonly target: { readonly id: string | null; readonly name: string }
  readonly steps: readonly NewStep[]
  /**
   * Queue of the reconciler that carries out the operation. A creation, cancel or retry wakes the
   * reconciler. `queueKey`: by default the target's id.
   */
  readonly queue: string
  readonly queueKey?: string
  /** Details of the audit entry; null if the use-case writes the entry itself. */
  readonly audit?: Pick<Change, 'before' | 'after'> | null
  readonly arguments?: unknown
  /**
   * Earliest start of a scheduled operation, and whether it runs only in its cluster's maintenance
   * window. Its reconciler applies both.
   */
  readonly startsAt?: Date | null
  readonly inWindow?: boolean
}
export type OfKind<K extends OperationKind> = { readonly kind: K } & (K extends KindWithArguments
  ? { readonly arguments: ArgumentsOf<K> }
  : unknown)

/**
 * Change of a step. Times and the attempt follow from the status. `node_id` is set when the server
 * of a step becomes known.
 */
export type StepChange = Partial<Pick<Step, 'status' | 'node_id' | 'reason' | 'title'>>

export interface StatusChange {
  readonly status: Exclude<OperationStatus, 'pending' | 'cancelling'>
  readonly reason?: string | null
  /**
   * The operation isn't ended by its own reconciler, so its remaining steps are skipped with the
   * same reason.
   */
  readonly forGood?: boolean
}

/** Disks that a retry would wipe although their current content isn't confirmed. */
export interface Wipes {
  readonly chosen: readonly ChosenDisks[]
  /** Records the confirmations in the transaction of the retry. */
  readonly agree: (tx: Tx) => Promise<void>
}

/** What an operation or a step waits for that may end by itself, and since when. */
export interface Delay {
  readonly since: Date
  readonly reason: string
}
/** Whether such a wait is over, and the sentence that says so, or what is waited for and how long. */
export interface Patience {
  readonly isOver: boolean
  readonly sentence: string
}
/** An operation that has not begun, or one of its steps. */
export interface Delayed {
  readonly operationId: string
  readonly step?: string
}

export interface RetryGuard {
  /**
   * Whether a retry is possible. Called before the operation's row is locked, because the
   * operation's target must always be locked first.
   */
  readonly may: (tx: Tx, operation: { id: string; key: string }) => Promise<Verdict>
  /**
   * The disks that a retry would wipe. Called outside of a transaction, because the guard may
   * contact machines.
   */
  readonly wipes?: (operation: { id: string; key: string }) => Promise<Wipes>
}

/** What users want an operation to do. `round` counts from 1 and increases with each retry. */
export interface Asked {
  readonly kind: OperationKind
  readonly status: OperationStatus
  readonly round: number
  readonly cancel_requested_at: Date | null
}

interface Carried {
  readonly operation: Operation
  /** Steelyard, on behalf of the user who requested the operation. */
  readonly caller: SystemCaller
  readonly isCancelled: boolean
}

/** An upgrade that ended before all servers had the new version. */
export interface StoppedUpgrade {
  readonly operation_id: string
  readonly cluster_id: string
  readonly kind: 'clusterUpgradeTalos' | 'clusterUpgradeKubernetes'
  readonly status: 'failed' | 'cancelled' | 'waiting'
  readonly version: string | null
  readonly reason: string | null
  /** When it ended, or since when it waits. */
  readonly ended_at: Date
  /** Servers that have the new version, and all that should have got it. */
  readonly servers: { readonly done: number; readonly of: number }
  /** Ids of the servers that do not have it yet. */
  readonly left: readonly string[]
}

/** A change of a cluster that was to run at a time or in a maintenance window, and has failed. */
export interface FailedScheduled {
  readonly operation_id: string
  readonly cluster_id: string
  readonly kind: OperationKind
  readonly reason: string | null
  readonly ended_at: Date
  readonly starts_at: Date | null
  readonly in_window: boolean
}

/** An operation whose work ended Steelyard three times while nothing else ran. */
export interface HaltedOperation {
  readonly operation_id: string
  /** "Create cluster web" */
  readonly title: string
}

/** An operation in few words. */
export type Tried = Pick<
  Operation,
  'kind' | 'target' | 'status' | 'reason' | 'created_by' | 'created_at'
>

export interface Operations {
  /** Creates an operation in the caller's transaction and wakes its reconciler after the commit. */
  readonly create: <K extends OperationKind>(
    tx: Tx,
    caller: Caller,
    operation: NewOperation & OfKind<K>,
  ) => Promise<Operation>
  /**
   * Records an operation that the caller's transaction completes. The caller writes the audit
   * entry.
   */
  readonly done: (
    tx: Tx,
    caller: Caller,
    kind: 'serverRemove' | 'clusterImport',
    target: { id: string; name: string },
  ) => Promise<Operation>
  /** Appends steps that became known later. Steps whose keys exist already are skipped. */
  readonly addSteps: (tx: Tx, id: string, steps: readonly NewStep[]) => Promise<void>
  /** Replaces the steps of an operation that has not begun. */
  readonly replaceSteps: (tx: Tx, id: string, steps: readonly NewStep[]) => Promise<void>
  /**
   * Updates a step. An empty change or an unknown key has no effect. The first running step makes
   * the operation running.
   */
  readonly step: (tx: Tx, id: string, key: string, change: StepChange) => Promise<void>
  /** Updates several steps, which counts as one change of the operation. */
  readonly steps: (
    tx: Tx,
    id: string,
    changes: readonly ({ readonly key: string } & StepChange)[],
  ) => Promise<void>
  /** Updates the operation's status. An ended operation doesn't change. */
  readonly set: (tx: Tx, id: string, change: StatusChange) => Promise<void>
  /** Asks an open operation to stop at its next safe point, for another that has begun it. */
  readonly cancelIn: (tx: Tx, id: string) => Promise<void>
  /** Sets what an operation that has not begun waits for, as its reason. */
  readonly note: (tx: Tx, id: string, reason: string) => Promise<void>
  readonly delay: (on: On, operationId: string, step: string) => Promise<Delay | undefined>
  /** Judges a wait for what is refused only for now. `limitMs`: one of `waitLimits`. */
  readonly patience: (
    job: Pick<Job, 'now' | 'elapsedMs' | 'upMs'>,
    of: Delayed,
    wait: { readonly reason: string; readonly limitMs: number },
  ) => Promise<Patience>
  /** Stores such a wait. `since` counts only in the first call. */
  readonly delayed: (tx: Tx, of: Delayed, delay: Delay) => Promise<void>
  /**
   * Ends such waits; without `steps` all of the operation. A step that goes on or ends does so by
   * itself.
   */
  readonly undelay: (tx: Tx, operationId: string, steps?: readonly string[]) => Promise<void>
  /** Reads without a permission check. */
  readonly read: (on: On, id: string) => Promise<Operation | undefined>
  readonly state: (on: On, id: string) => Promise<Asked | undefined>
  /** The operation's arguments; default arguments if the operation is of another kind. */
  readonly argumentsOf: <K extends KindWithArguments>(
    on: On,
    id: string,
    kind: K,
  ) => Promise<ArgumentsOf<K>>
  /** Adds what a reconciler has to know after a restart to the arguments of the operation. */
  readonly amend: <K extends KindWithArguments>(
    tx: Tx,
    id: string,
    fields: Partial<ArgumentsOf<K>>,
  ) => Promise<void>
  /** The open operation of a queue's object. */
  readonly carriedBy: (on: On, work: Work) => Promise<Carried | undefined>
  /** All open operations of a queue's object, oldest first. */
  readonly allCarriedBy: (on: On, work: Work) => Promise<(Carried & { round: number })[]>
  /** Open operations on an object, with those that are only scheduled (`isScheduled`). */
  readonly open: (
    on: On,
    kind: Operation['target']['kind'],
    id: string,
  ) => Promise<
    (Pick<Operation, 'id' | 'kind' | 'status' | 'in_window'> & {
      readonly starts_at: Date | null
      readonly started_at: Date | null
    })[]
  >
  /**
   * Average duration in seconds of the steps of a cluster's earlier operations, by the prefix of
   * their keys.
   */
  readonly durations: (on: On, clusterId: string) => Promise<ReadonlyMap<string, number>>
  /** The newest running operations, or the latest failures, that the scopes permit to see. */
  readonly recent: (
    which: 'running' | 'failed',
    scopes: readonly Scope[],
    limit: number,
  ) => Promise<Operation[]>
  /**
   * The first operations between two times on these objects, or with a step on one of them, that the
   * scopes permit to see; without their steps.
   */
  readonly about: (
    scopes: readonly Scope[],
    objects: readonly string[],
    from: Date,
    to: Date,
    limit: number,
  ) => Promise<Tried[]>
  /** The upgrades of clusters that stopped, and after which none of their kind has begun. */
  readonly stoppedUpgrades: (on: On) => Promise<StoppedUpgrade[]>
  /**
   * The scheduled changes of clusters that have failed, and after which nobody has asked for another
   * change of the cluster; without upgrades and snapshots.
   */
  readonly failedScheduled: (on: On) => Promise<FailedScheduled[]>
  /**
   * The servers on which running operations carry out a step, or have ended one since this time,
   * with the time at which the first of these steps began. An operation that was done since then
   * counts too, and one that only looks at servers does not.
   */
  readonly touched: (
    on: On,
    endedSince: Date,
  ) => Promise<readonly { readonly server_id: string; readonly since: Date }[]>
  /** The open operations whose work ends Steelyard (`engine/crashes.ts`), oldest first. */
  readonly haltedOperations: (on: On) => Promise<readonly HaltedOperation[]>
  /** Operations on hold after a restore. */
  readonly held: (on: On) => Promise<Operation[]>
  /**
   * The held object to resume before the operation continues; undefined if the operation isn't
   * held. @throws Problem not_found, forbidden
   */
  readonly heldBy: (tx: Tx, caller: UserCaller, id: string) => Promise<HoldOwner | undefined>
  /** Resumes and returns the operations on objects that are no longer held. */
  readonly goOn: (tx: Tx, subjects: readonly string[]) => Promise<Operation[]>
  /**
   * Resumes an operation whose work was halted (`engine/crashes.ts`); undefined if none was.
   * @throws Problem not_found, forbidden
   */
  readonly resumeHalted: (tx: Tx, caller: UserCaller, id: string) => Promise<Operation | undefined>
  /** Sets a queue's guard of retries. */
  readonly guardRetry: (queue: string, guard: RetryGuard) => void
  /** Says that the operations of `queue` also have work in the queue `each`, one key per server. */
  readonly worksPerServer: (queue: string, each: string) => void
}
