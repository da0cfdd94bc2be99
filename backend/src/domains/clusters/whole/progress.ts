/** Writes progress to the operation: only changes, and nothing after its end. */
import { hasEnded, type Step, type StepStatus } from '#contract/operations.ts'
import type { ClusterRole } from '#contract/clusters/clusters.ts'
import type { Db, Tx } from '../../../db/db.ts'
import type { Operations } from '../../operations/operations.ts'
import type { Place } from '../../../db/columns.ts'
import { leaving, placesOf, stepKey, type WholeStep } from '../plan.ts'

export interface Shown {
  readonly status: StepStatus
  readonly reason: string | null
}

const todo: Shown = { status: 'todo', reason: null }
export const done: Shown = { status: 'done', reason: null }
export const running = (reason: string | null = null): Shown => ({ status: 'running', reason })
export const waiting = (reason: string): Shown => ({ status: 'waiting', reason })
export const failed = (reason: string): Shown => ({ status: 'failed', reason })

/** Steps of a server at a place: earlier ones are done, later ones are to do. */
export function memberSteps(nodeId: string, role: ClusterRole, at: Place, shown: Shown, wasInstalled: boolean): ReadonlyMap<string, Shown> {
  const steps = new Map<string, Shown>()
  const path: readonly Place[] = leaving.some((p) => p === at) || at === 'done' ? leaving : placesOf(role)
  const place = at === 'done' ? path.length : path.indexOf(at)
  for (const [i, p] of path.entries()) steps.set(stepKey(p, nodeId), i < place ? done : i === place ? shown : todo)
  if (wasInstalled && path !== leaving && place >= path.indexOf('install'))
    steps.set(stepKey('install', nodeId), { status: 'skipped', reason: 'Talos is already installed' })
  return steps
}

export interface Progress {
  /** Updates the operation's steps that differ. */
  show(tx: Tx, operationId: string | null, steps: ReadonlyMap<string, Shown>): Promise<void>
}

export const progress = (operations: Pick<Operations, 'read' | 'step'>): Progress => ({
  async show(tx, operationId, steps) {
    const operation = operationId === null ? undefined : await operations.read(tx, operationId)
    if (!operation || hasEnded(operation)) return
    for (const step of operation.steps) {
      const wanted = steps.get(step.key)
      if (wanted && differs(step, wanted)) await operations.step(tx, operation.id, step.key, wanted)
    }
  },
})

/** Whether a step changes. A done step stays done, so that a momentary state doesn't undo the timeline. */
const differs = (step: Step, wanted: Shown): boolean => {
  if (step.status === wanted.status) return step.reason !== wanted.reason
  if (step.status === 'skipped') return false
  return !(step.status === 'done' && wanted.status === 'todo')
}

export const whole = (steps: Partial<Record<WholeStep, Shown>>): ReadonlyMap<string, Shown> => new Map(Object.entries(steps))

/** How long a step has been running, in ms; 0 if it has not started. */
export async function sinceStarted(on: Db | Tx, operations: Pick<Operations, 'read'>, operationId: string | null, key: string, now: number): Promise<number> {
  const operation = operationId === null ? undefined : await operations.read(on, operationId)
  const started = operation?.steps.find((s) => s.key === key)?.started_at
  return started ? now - Date.parse(started) : 0
}
