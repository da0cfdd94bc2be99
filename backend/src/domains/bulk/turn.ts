/** A run of an act on many servers. */
import { Problem } from '#contract/errors.ts'
import type { Operation } from '#contract/operations.ts'
import type { BulkAct } from '#contract/servers/bulk.ts'
import type { TalosError } from '#talos/client/errors.ts'
import type { Job } from '../../engine/engine.ts'
import type { SystemCaller } from '../../http/caller.ts'
import type { StepChange } from '../operations/api.ts'
import type { ItemRow } from './store.ts'

export interface Turn {
  readonly job: Job
  readonly operation: Operation
  /** Begins the operations on servers and clusters. */
  readonly caller: SystemCaller
  readonly isCancelled: boolean
  readonly act: BulkAct
}

/** A server of the act with its step. */
export interface Item extends ItemRow {
  readonly name: string
}

/** Thrown in the transaction that begins a part of the act if it must not begin any more. */
export class NotNow extends Error {}

export const changedSince = 'It has changed since it was planned: look at it, and plan it again'

/** What a server that refuses its act gets. Pure. */
export const notBegun = (error: Problem | TalosError): StepChange => ({
  // Files that have locked the cluster meanwhile stop what has not begun, as a cancel does.
  status: error instanceof Problem && error.code === 'held_by_files' ? 'skipped' : 'failed',
  reason: error instanceof Problem && error.code === 'stale' ? changedSince : error.message,
})

/** Number of clusters that are worked on at once. */
export const clustersAtOnce = 8
/**
 * The clusters that a run works on. Those that wait for their maintenance windows are all begun,
 * because the first window may be that of the last cluster. Pure.
 */
export const lanesNow = <L>(
  lanes: readonly L[],
  { kind, in_window }: Pick<BulkAct, 'kind' | 'in_window'>,
): readonly L[] => (kind === 'upgrade' && in_window ? lanes : lanes.slice(0, clustersAtOnce))
