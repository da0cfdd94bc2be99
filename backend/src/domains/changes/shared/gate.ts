/**
 * After a change of a control plane, the next server waits until this one is well: its static pods
 * run with their new configuration, its member of etcd has caught up, its kubelet has reported and
 * its node is Ready. The last server counts too: a change isn't done while a component that it has
 * changed is down.
 */
import type {
  ChangeKindName,
  ClusterChange,
  PlanCheck,
} from '#contract/clusters/changes/changes.ts'
import { sharedChangeSteps } from '#contract/clusters/changes/table.ts'
import { Problem } from '#contract/errors.ts'
import type { TalosClient } from '#talos/client/client.ts'
import { TalosError } from '#talos/client/errors.ts'
import { printable } from '../../../kubernetes/answers.ts'
import {
  check,
  type Component,
  controlPlanesNow,
  type ControlPlaneState,
  forNowIf,
  type Illness,
  isWanted,
  namesLeaving,
  sentenceOf,
  settled,
  whyOthersForbid,
} from '../../control-planes/api.ts'
import { listed } from '../../../sentences.ts'
import type { MemberRow } from '../../clusters/api.ts'
import {
  type ChangeKind,
  type ChangeTurn,
  type ChangeView,
  keyOf,
  type PlannedGroup,
  prefixOf,
  type StepAt,
  type StepResult,
  talos,
  viewOf,
  waitedMs,
} from '../frame.ts'
import { passIn } from './passes.ts'
import { takeBack } from './advice.ts'

export const gateStep = 'control-plane'
/** The step after a control plane has left: the others are well without it. */
export const othersStep = 'control-planes'

/**
 * A component that is known to be dead and has not come back after this time, in ms, ends the
 * change. Kubernetes starts a container again after 10, 20, 40 and 80 s (`MaxContainerBackOff`), so
 * one that needs a second start is not given up.
 */
const deadForMs = 3 * 60_000
/** A dead component's log is read after this time, in ms, because it may come back by itself. */
export const quietMs = 5_000
const logLines = 3
const lineLength = 300

/** The groups with a step that waits for each control plane that they change. Pure. */
export function gated(
  { touches = [] }: Pick<ChangeKind<unknown>, 'touches'>,
  members: readonly Pick<MemberRow, 'node_id' | 'role'>[],
  groups: readonly PlannedGroup[],
): PlannedGroup[] {
  const roles = new Map(members.map((m) => [m.node_id, m.role]))
  return groups.map((group) => {
    const { node_id, name, steps, becomes } = group
    const prefixes = steps.map(({ key }) => prefixOf(key))
    const touched = prefixes.findIndex((prefix) => touches.includes(prefix))
    if (touched === -1 || node_id === null) return group
    if ((becomes ?? roles.get(node_id)) !== 'control_plane') return group
    const step = {
      // A server may have several groups.
      key: `${keyOf(gateStep, node_id)}/${[prefixes[touched], passIn(steps[touched]!.key)].filter(Boolean).join('/')}`,
      title: sharedChangeSteps[gateStep]({ name: name! }),
    }
    const uncordon = prefixes.indexOf('uncordon', touched)
    const at = uncordon === -1 ? steps.length : uncordon
    return { ...group, steps: [...steps.slice(0, at), step, ...steps.slice(at)] }
  })
}

/**
 * Check: every control plane is well before one of them is changed, joins or leaves. A change that
 * mends names those that are not. Problems of a server that the change removes don't count.
 */
export async function checkControlPlanes(
  view: ChangeView,
  groups: readonly PlannedGroup[],
  mends: readonly string[] | undefined,
): Promise<PlanCheck[]> {
  const withStep = (...wanted: readonly string[]): string[] =>
    groups.flatMap(({ node_id, steps }) =>
      node_id !== null && steps.some(({ key }) => wanted.includes(prefixOf(key))) ? [node_id] : [],
    )
  const changed = withStep(gateStep, othersStep)
  if (changed.length === 0) return []
  const leaving = withStep('reset')
  const all = settled(await controlPlanesNow(view, (id) => !leaving.includes(id)))
  return [judgeControlPlanes(all, changed, mends)]
}

/** Why a server can't be mended in its turn, or null: those before it are well by then. */
function whyMendingForbidden(
  all: readonly ControlPlaneState[],
  ill: readonly ControlPlaneState[],
  mends: ReadonlySet<string>,
): string | null {
  const mended = new Set<string>()
  for (const { node_id } of ill) {
    const by = all.map((one) => (mended.has(one.node_id) ? { ...one, illnesses: [] } : one))
    const why = whyOthersForbid(node_id, by, mends)
    if (why !== null) return why
    mended.add(node_id)
  }
  return null
}

/**
 * The check of `checkControlPlanes`. `changed`: ids of the control planes that change. `named`:
 * undefined for a kind that mends nothing. Pure.
 */
export function judgeControlPlanes(
  all: readonly ControlPlaneState[],
  changed: readonly string[],
  named: readonly string[] | undefined,
): PlanCheck {
  const [canMend, mends] = [named !== undefined, named ?? []]
  const ill = all.filter(({ illnesses }) => illnesses.length > 0)
  const unnamed = ill.filter(({ name }) => !mends.includes(name))
  const left = ill.filter(({ node_id }) => !changed.includes(node_id))
  const forbidden = whyMendingForbidden(all, ill, new Set(mends))
  if (unnamed.length === 0 && left.length === 0 && forbidden === null)
    return check(
      'control-planes',
      true,
      ill.length === 0
        ? 'Every control plane is well'
        : `The change begins with ${listed(ill.map(({ name }) => name))}, which it is to mend`,
    )
  const [first] = [...unnamed, ...left]
  const why = first === undefined ? forbidden! : sentenceOf(first.illnesses)
  const next =
    first === undefined
      ? 'Bring the other members of etcd back first'
      : unnamed.length > 0
        ? `Bring ${first.name} back first. ${canMend ? 'If this change mends it, confirm that with its name' : 'A change of patches can mend it'}`
        : `Choose ${first.name} as well, because only a server that is changed can be mended`
  // What has ended comes back only with a change, and what nobody has chosen never.
  const isPassing =
    (first === undefined || unnamed.length > 0) &&
    ill.every(({ illnesses }) => !isAnyDead(illnesses))
  return forNowIf(isPassing, check('control-planes', false, `${why}. ${next}`))
}

/** The last lines of the log of a component, as Talos or the kubelet keeps it. */
async function logOf(client: TalosClient, component: Component, name: string): Promise<string[]> {
  if (component.startsWith('kube-'))
    return client.podLog(`${component}-${name}`, component, logLines)
  const parts = await Array.fromAsync(client.logs({ service: component, tail: logLines }))
  return Buffer.concat(parts).toString('utf8').split('\n')
}

/** The last lines of the log of the first component that has ended, as the end of a sentence. */
export async function lastWords(
  turn: ChangeTurn,
  ill: readonly ControlPlaneState[],
): Promise<string> {
  const [dead] = ill.flatMap(({ node_id, name, illnesses }) =>
    illnesses.flatMap(({ component, isDead }) => (isDead ? [{ node_id, name, component }] : [])),
  )
  if (dead === undefined) return ''
  const { node_id, name, component } = dead
  try {
    const lines = await talos(turn, node_id, (client) => logOf(client, component, name))
    const said = lines
      .filter((line) => line.trim() !== '')
      .map((line) => printable(line.trim()).slice(0, lineLength))
      .join(' / ')
    return said === '' ? '' : `. Its log ends with: ${said}`
  } catch (error) {
    if (turn.job.signal.aborted || !(error instanceof TalosError || error instanceof Problem))
      throw error
    return ''
  }
}

/**
 * What a wait for control planes comes to. `words`: the last lines of a dead component's log, as the
 * end of a sentence. Pure.
 */
export function outcomeOf(
  illnesses: readonly Illness[],
  {
    kind,
    waited,
    words,
    isSafe,
  }: {
    readonly kind: ChangeKindName
    /** In ms. */
    readonly waited: number
    readonly words: string
    readonly isSafe: boolean
  },
): StepResult {
  if (illnesses.length === 0) return 'done'
  const why = `${sentenceOf(illnesses)}${words}`
  return isAnyDead(illnesses) && waited > deadForMs
    ? { failed: `${why}. No other control plane was changed after it. ${takeBack(kind)}` }
    : { waiting: why, againMs: 1_000, isSafe }
}

export const isAnyDead = (illnesses: readonly Illness[]): boolean =>
  illnesses.some((one) => one.isDead)

/** Waits until these control planes, which are not well, are well. */
async function waitWell(
  turn: ChangeTurn<ClusterChange>,
  { step }: StepAt,
  ill: readonly ControlPlaneState[],
  isSafe: boolean,
): Promise<StepResult> {
  const illnesses = ill.flatMap((one) => one.illnesses)
  const waited = waitedMs(turn.job, step)
  const words = isAnyDead(illnesses) && waited > quietMs ? await lastWords(turn, ill) : ''
  return outcomeOf(illnesses, { kind: turn.change.kind, waited, words, isSafe })
}

/** Step `control-plane/<node id>/…`: waits until the server that was changed is well. */
export async function controlPlaneWell(
  turn: ChangeTurn<ClusterChange>,
  at: StepAt,
  isSafe: boolean,
): Promise<StepResult> {
  const isOwn = (id: string): boolean => id === at.nodeId
  const isHere = turn.state.members.some((m) => isOwn(m.node_id) && isWanted(m))
  if (!isHere) return { skipped: 'The server has left the cluster' }
  const ownOf = (all: readonly ControlPlaneState[]) =>
    all.filter(({ node_id, illnesses }) => isOwn(node_id) && illnesses.length > 0)
  const own = ownOf(await controlPlanesNow(viewOf(turn), isOwn))
  // Whether etcd has caught up is seen beside the others, which are asked only at the end.
  const ill = own.length > 0 ? own : ownOf(await controlPlanesNow(viewOf(turn)))
  return waitWell(turn, at, ill, isSafe)
}

/**
 * Step `control-planes/<node id>`: waits until the others are well after a control plane has left.
 * Those that leave later don't count.
 */
export async function othersWell(
  turn: ChangeTurn<ClusterChange>,
  at: StepAt,
  isSafe: boolean,
): Promise<StepResult> {
  const leaving = namesLeaving(turn.operation, turn.state.members)
  const all = await controlPlanesNow(viewOf(turn), (id) => id !== at.nodeId)
  return waitWell(
    turn,
    at,
    all.filter(({ name, illnesses }) => illnesses.length > 0 && !leaving.has(name)),
    isSafe,
  )
}
