/**
 * What the reconcilers of a cluster and of its servers write: progress of operations, and only while users still want the same. API calls lock
 * the cluster's row and don't use the fence, so each write of a run locks that row too, and compares what it read with the current wanted state.
 */
import { hasEnded, type Step } from '#contract/operations.ts'
import type { ClusterRole } from '#contract/clusters/clusters.ts'
import type { Place } from '../../../db/columns.ts'
import type { Tx } from '../../../db/db.ts'
import type { Operations } from '../../operations/operations.ts'
import { leaving, placesOf, stepKey } from '../plan.ts'
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
  const isUnchanged = now?.deleted_at === null && now.wanted === read.wanted && now.forced === read.forced && now.operation_id === read.operation_id
  if (!isUnchanged) throw new Overtaken(read.name)
}

/** Whether users still want the same of a server. */
export const isSameMember = (read: store.MemberRow, now: store.MemberRow | undefined): now is store.MemberRow =>
  now !== undefined && now.at !== 'done' && now.wanted === read.wanted && now.operation_id === read.operation_id

/** First in a transaction of a server's reconciler: its current row, or undefined if it was overtaken. */
export async function holdMember(tx: Tx, read: store.MemberRow): Promise<store.MemberRow | undefined> {
  await store.hold(tx, read.cluster_id)
  const now = await store.member(tx, read.cluster_id, read.node_id)
  return isSameMember(read, now) ? now : undefined
}

export type Shown = Pick<Step, 'status' | 'reason'>

export const done: Shown = { status: 'done', reason: null }
export const running = (reason: string | null = null): Shown => ({ status: 'running', reason })
export const waiting = (reason: string): Shown => ({ status: 'waiting', reason })
export const failed = (reason: string): Shown => ({ status: 'failed', reason })

/** Steps of a server at a place: earlier ones are done, later ones are to do. */
export function memberSteps(nodeId: string, role: ClusterRole, at: Place, shown: Shown, wasInstalled: boolean): ReadonlyMap<string, Shown> {
  const path: readonly Place[] = leaving.some((p) => p === at) || at === 'done' ? leaving : placesOf(role)
  const place = at === 'done' ? path.length : path.indexOf(at)
  const shownAt = (i: number): Shown => (i < place ? done : i === place ? shown : { status: 'todo', reason: null })
  const steps = new Map(path.map((p, i) => [stepKey(p, nodeId), shownAt(i)]))
  if (wasInstalled && path !== leaving && place >= path.indexOf('install'))
    steps.set(stepKey('install', nodeId), { status: 'skipped', reason: 'Talos is already installed' })
  return steps
}

/** Updates the steps that differ; none after the operation's end. */
export async function showSteps(operations: Operations, tx: Tx, operationId: string | null, steps: ReadonlyMap<string, Shown>): Promise<void> {
  const operation = operationId === null ? undefined : await operations.read(tx, operationId)
  if (!operation || hasEnded(operation)) return
  for (const step of operation.steps) {
    const wanted = steps.get(step.key)
    if (wanted && differs(step, wanted)) await operations.step(tx, operation.id, step.key, wanted)
  }
}

/** Whether a step changes. A done step stays done, so that a momentary state doesn't undo the timeline. */
function differs(step: Step, wanted: Shown): boolean {
  if (step.status === wanted.status) return step.reason !== wanted.reason
  if (step.status === 'skipped') return false
  return !(step.status === 'done' && wanted.status === 'todo')
}
