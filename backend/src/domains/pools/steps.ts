/** The steps of an assignment as users see them: two for each added or removed subnet. */
import { subnetSteps } from '#contract/clusters/steps.ts'
import type { Subnet } from '#contract/network/subnets.ts'
import { hasEnded, type Operation, type Step, type StepStatus } from '#contract/operations.ts'
import type { Tx } from '../../db/db.ts'
import type { NewStep, Operations } from '../operations/api.ts'

export type Place = keyof typeof subnetSteps
export type Shown = Pick<Step, 'status' | 'reason'>
export const stepKey = (place: Place, subnetId: string): string => `${place}/${subnetId}`
/** Id of the subnet in a step's key; undefined for a step of another kind. */
export function subnetOf(key: string, place: Place): string | undefined {
  const [found, id] = key.split('/')
  return found === place ? id : undefined
}

type Named = Pick<Subnet, 'id' | 'name'>
const newSteps = (places: readonly Place[], subnet: Named): NewStep[] =>
  places.map((place) => ({ key: stepKey(place, subnet.id), title: subnetSteps[place](subnet) }))
export const comingSteps = (subnet: Named): NewStep[] => newSteps(['apply', 'read-back'], subnet)
export const goingSteps = (subnet: Named): NewStep[] => newSteps(['drain', 'remove'], subnet)

export const done: Shown = { status: 'done', reason: null }
export const todo: Shown = { status: 'todo', reason: null }
export const running: Shown = { status: 'running', reason: null }
export const waiting = (reason: string): Shown => ({ status: 'waiting', reason })
export const failed = (reason: string): Shown => ({ status: 'failed', reason })
export const skipped = (reason: string): Shown => ({ status: 'skipped', reason })

const isEnd = (status: StepStatus) =>
  status === 'done' || status === 'failed' || status === 'skipped'

/** The subnets that an operation still adds. */
export const unfinishedIn = (operation: Pick<Operation, 'steps'> | undefined): Set<string> =>
  new Set(
    (operation?.steps ?? [])
      .filter((s) => !isEnd(s.status))
      .flatMap((s) => subnetOf(s.key, 'apply') ?? subnetOf(s.key, 'read-back') ?? []),
  )

/**
 * Updates the operation's steps. An ended operation doesn't change; later findings are shown only
 * at the subnet.
 */
export async function show(
  operations: Operations,
  tx: Tx,
  id: string,
  steps: ReadonlyMap<string, Shown>,
): Promise<void> {
  const operation = await operations.read(tx, id)
  if (!operation || hasEnded(operation)) return
  for (const step of operation.steps) {
    const wanted = steps.get(step.key)
    const isNew = wanted && (wanted.status !== step.status || wanted.reason !== step.reason)
    if (isNew && !isEnd(step.status)) await operations.step(tx, id, step.key, wanted)
  }
}

/** The operation's final status if all steps have ended, else null. */
export function endOf({ steps, status }: Pick<Operation, 'steps' | 'status'>): {
  status: 'done' | 'failed' | 'cancelled'
  reason: string | null
} | null {
  if (!steps.every((s) => isEnd(s.status))) return null
  if (status === 'cancelling') return { status: 'cancelled', reason: null }
  const bad = steps.find((s) => s.status === 'failed')
  return bad ? { status: 'failed', reason: bad.reason } : { status: 'done', reason: null }
}
