/** A run of an act on many servers. */
import type { Operation } from '#contract/operations.ts'
import type { BulkAct } from '#contract/servers/bulk.ts'
import type { Job } from '../../engine/engine.ts'
import type { SystemCaller } from '../../http/caller.ts'
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
