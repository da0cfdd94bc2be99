/**
 * Users may change the wanted state between a run's read and its write: API calls lock the cluster's row and don't use the fence. So each write of a run locks
 * that row too, and compares what it read with the current wanted state.
 */
import type { Db, Tx } from '../../../db/db.ts'
import type { Operations } from '../../operations/operations.ts'
import * as store from '../store.ts'

/** Users have changed the wanted state since it was read. Nothing was written or sent. */
export class Overtaken extends Error {
  override readonly name = 'Overtaken'
  constructor(what: string) {
    super(`${what} is to be something else by now`)
  }
}

/** First in a transaction of the cluster's reconciler. @throws Overtaken */
export async function holdCluster(tx: Tx, read: store.ClusterRow): Promise<void> {
  const now = await store.hold(tx, read.id)
  const isSame = now?.deleted_at === null && now.wanted === read.wanted && now.forced === read.forced && now.operation_id === read.operation_id
  if (!isSame) throw new Overtaken(read.name)
}

const isSame = (read: store.MemberRow, now: store.MemberRow | undefined): now is store.MemberRow =>
  now !== undefined && now.at !== 'done' && now.wanted === read.wanted && now.operation_id === read.operation_id

/** First in a transaction of a server's reconciler: its current row, or undefined if it was overtaken. */
export async function holdMember(tx: Tx, read: store.MemberRow): Promise<store.MemberRow | undefined> {
  await store.hold(tx, read.cluster_id)
  const now = await store.member(tx, read.cluster_id, read.node_id)
  return isSame(read, now) ? now : undefined
}

/**
 * Checked right before an order, because connecting takes time. A reset that is being cancelled is not ordered any more, unless an
 * earlier order may have arrived (`read` is the row from before this one). @throws Overtaken
 */
export async function demandStillWanted(db: Db, operations: Pick<Operations, 'state'>, read: store.MemberRow): Promise<void> {
  const now = await store.member(db, read.cluster_id, read.node_id)
  const operation = now?.operation_id == null ? undefined : await operations.state(db, now.operation_id)
  const isCancelled = operation !== undefined && operation.cancel_requested_at !== null && read.reset_intent_at === null
  if (!isSame(read, now) || isCancelled) throw new Overtaken(read.name)
}
