/**
 * A step that waits says which component of a control plane is dead, with its last words: what the
 * step itself sees, such as a refused connection, is often only the consequence.
 */
import { passKey } from './passes.ts'
import type { ClusterChange } from '#contract/clusters/changes/changes.ts'
import type { Step } from '#contract/operations.ts'
import { controlPlanesNow, type ControlPlaneState, sentenceOf } from '../../control-planes/api.ts'
import {
  type ChangeTurn,
  keyOf,
  prefixOf,
  type StepAt,
  type StepResult,
  viewOf,
  waitedMs,
  type Waiting,
} from '../frame.ts'
import { gateStep, lastWords, othersStep, outcomeOf, quietMs } from './gate.ts'

/** Time limit of the look at control planes, and the shortest pause between two looks, in ms. */
const lookMs = 3_000
const pauseMs = 1_000
/** A step that has waited for this time, in ms, asks every control plane, which costs some calls. */
const longMs = 20_000

/**
 * Steps whose waits name what is not well themselves, and steps of a restore at which etcd does not
 * run yet, so that every component that needs it is dead.
 */
const saysItself: ReadonlySet<string> = new Set([gateStep, othersStep, 'wipe', 'upload', 'recover'])
/**
 * Steps during which a machine may boot for minutes: a component that is dead then may be one that
 * waits for another.
 */
const boots: ReadonlySet<string> = new Set(['answers', 'upgrade', 'rollback', 'join'])

type Steps = readonly Pick<Step, 'key' | 'node_id'>[]

/**
 * Whether the server of the step `key` has got what the change sends it, or is getting it: the step
 * is in a group that ends with a wait for the control plane, and not before the one that sends. Pure.
 */
export function isTouched(steps: Steps, key: string): boolean {
  const at = steps.findIndex((s) => s.key === key)
  const nodeId = steps[at]?.node_id
  if (!nodeId) return false
  const end = steps.findIndex((s, i) => i > at && s.node_id !== nodeId)
  const gate = steps
    .slice(at, end === -1 ? steps.length : end)
    .find((s) => s.key.startsWith(`${gateStep}/`))
  if (gate === undefined) return false
  const [prefix = '', pass] = gate.key.slice(keyOf(gateStep, nodeId).length + 1).split('/')
  const sends = passKey(prefix, nodeId, pass)
  const sent = steps.findLastIndex((s, i) => i < steps.indexOf(gate) && s.key === sends)
  return sent !== -1 && sent <= at
}

/** Whether a machine may boot during the step. Pure. */
export const mayBoot = (steps: Steps, { key, node_id }: Steps[number]): boolean =>
  boots.has(prefixOf(key)) ||
  (node_id !== null &&
    isTouched(steps, key) &&
    steps.some((s) => s.key === keyOf('drain', node_id)) &&
    steps.some((s) => s.key === `${gateStep}/${node_id}/${prefixOf(key)}`))

/** The dead illnesses that the text doesn't name. Pure. */
export function unnamedIn(text: string, states: readonly ControlPlaneState[]): ControlPlaneState[] {
  const isNamed = (why: string): boolean => {
    const reason = why.slice(why.indexOf(': ') + 2)
    return text.includes(why) || (why.includes(': ') && text.includes(reason))
  }
  return states.flatMap((one) => {
    const illnesses = one.illnesses.filter(({ isDead, why }) => isDead && !isNamed(why))
    return illnesses.length === 0 ? [] : [{ ...one, illnesses }]
  })
}

/**
 * What a wait comes to while a component of a control plane is dead. If it runs on the server that
 * the change has just changed, it is what the step waits for, and after a time the change ends;
 * otherwise it is added to what the step waits for. At first nobody is asked, because a component
 * that has just been changed may come back by itself.
 */
export async function whileDead(
  turn: ChangeTurn<ClusterChange>,
  at: StepAt,
  result: Waiting,
): Promise<StepResult> {
  const waited = waitedMs(turn.job, at.step)
  if (result.isUnsent || saysItself.has(prefixOf(at.key)) || waited <= quietMs) return result
  const isOwn = (id: string): boolean => id === at.nodeId
  const look = async (isAsked: (id: string) => boolean): Promise<ControlPlaneState[]> =>
    unnamedIn('', await controlPlanesNow(viewOf(turn), isAsked, lookMs))
  const { steps } = turn.operation
  const own = isTouched(steps, at.key) ? await look(isOwn) : []
  if (own.length > 0)
    return outcomeOf(
      own.flatMap((one) => one.illnesses),
      {
        kind: turn.change.kind,
        waited: mayBoot(steps, at.step) ? 0 : waited,
        words: await lastWords(turn, own),
        isSafe: result.isSafe === true,
      },
    )
  const again = {
    ...result,
    ...(result.againMs !== undefined && { againMs: Math.max(result.againMs, pauseMs) }),
  }
  if (waited <= longMs) return again
  const more = unnamedIn(result.waiting, await look(() => true))
  if (more.length === 0) return again
  const why = sentenceOf(more.flatMap((one) => one.illnesses))
  return {
    ...again,
    waiting: `${result.waiting.replace(/\.$/, '')}. ${why}${await lastWords(turn, more)}`,
  }
}
