/**
 * After a change of a control plane, the next server waits until this one is well: its static pods
 * run with their new configuration, its member of etcd has caught up, its kubelet has reported and
 * its node is Ready. The last server counts too: a change isn't done while a component that it has
 * changed is down.
 */
import type { ClusterChange, PlanCheck } from '#contract/clusters/changes/changes.ts'
import { sharedChangeSteps } from '#contract/clusters/changes/table.ts'
import { Problem } from '#contract/errors.ts'
import { TalosError } from '#talos/client/errors.ts'
import { printable } from '../../../../kubernetes/answers.ts'
import {
  type ControlPlaneState,
  type Illness,
  sentenceOf,
  settled,
  whyOthersForbid,
} from '../../control-planes/judge.ts'
import { controlPlanesNow } from '../../control-planes/read.ts'
import { listed } from '../../sentences.ts'
import type * as store from '../../store.ts'
import {
  type ChangeKind,
  type ChangeTurn,
  type ChangeView,
  check,
  keyOf,
  memberOf,
  type PlannedGroup,
  prefixOf,
  type StepAt,
  type StepResult,
  talos,
  viewOf,
  waitedMs,
} from '../frame.ts'
import { takeBack } from './advice.ts'

export const gateStep = 'control-plane'

/**
 * A component that is known to be dead and has not come back after this time, in ms, ends the
 * change. Kubernetes starts a container again after 10, 20, 40 and 80 s (`MaxContainerBackOff`), so
 * one that needs a second start is not given up.
 */
const deadForMs = 3 * 60_000
/** A dead component's log is read after this time, in ms, because it may come back by itself. */
const quietMs = 5_000
const logLines = 3
const lineLength = 300

/** The groups with a step that waits for each control plane that they change. Pure. */
export function gated(
  { touches = [] }: Pick<ChangeKind<unknown>, 'touches'>,
  members: readonly Pick<store.MemberRow, 'node_id' | 'role'>[],
  groups: readonly PlannedGroup[],
): PlannedGroup[] {
  const controlPlanes = new Set(
    members.filter((m) => m.role === 'control_plane').map((m) => m.node_id),
  )
  return groups.map((group) => {
    const touching = group.steps.map(({ key }) => prefixOf(key)).find((p) => touches.includes(p))
    const { node_id, name } = group
    if (touching === undefined || node_id === null || !controlPlanes.has(node_id)) return group
    const step = {
      // A server may have several groups.
      key: `${keyOf(gateStep, node_id)}/${touching}`,
      title: sharedChangeSteps[gateStep]({ name: name! }),
    }
    const last = group.steps.findIndex(({ key }) => prefixOf(key) === 'uncordon')
    const at = last === -1 ? group.steps.length : last
    return { ...group, steps: [...group.steps.slice(0, at), step, ...group.steps.slice(at)] }
  })
}

/**
 * Check: every control plane is well before one of them is changed. A change that mends names those
 * that are not.
 */
export async function checkControlPlanes(
  view: ChangeView,
  groups: readonly PlannedGroup[],
  mends: readonly string[] | undefined,
): Promise<PlanCheck[]> {
  const changed = groups.flatMap(({ node_id, steps }) =>
    node_id !== null && steps.some(({ key }) => prefixOf(key) === gateStep) ? [node_id] : [],
  )
  if (changed.length === 0) return []
  const all = settled(await controlPlanesNow(view))
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
  return check('control-planes', false, `${why}. ${next}`)
}

/** The last lines of the log of the first static pod that has ended, as the end of a sentence. */
async function lastWords(
  turn: ChangeTurn,
  { node_id, name }: store.MemberRow,
  illnesses: readonly Illness[],
): Promise<string> {
  const dead = illnesses.find(
    ({ component, isDead }) => isDead && component.startsWith('kube-'),
  )?.component
  if (dead === undefined) return ''
  try {
    const lines = await talos(turn, node_id, (client) =>
      client.podLog(`${dead}-${name}`, dead, logLines),
    )
    const said = lines.map((line) => printable(line.trim()).slice(0, lineLength)).join(' / ')
    return said === '' ? '' : `. Its log ends with: ${said}`
  } catch (error) {
    if (turn.job.signal.aborted || !(error instanceof TalosError || error instanceof Problem))
      throw error
    return ''
  }
}

/** Step `control-plane/<node id>/…`: waits until the server that was changed is well. */
export async function controlPlaneWell(
  turn: ChangeTurn<ClusterChange>,
  { nodeId, step }: StepAt,
  isSafe: boolean,
): Promise<StepResult> {
  const m = memberOf(turn, nodeId!)
  const illnessesOf = (all: readonly ControlPlaneState[]): readonly Illness[] =>
    all.find((one) => one.node_id === nodeId)?.illnesses ?? []
  const own = illnessesOf(await controlPlanesNow(viewOf(turn), (id) => id === nodeId))
  // Whether etcd has caught up is seen beside the others, which are asked only at the end.
  const illnesses = own.length > 0 ? own : illnessesOf(await controlPlanesNow(viewOf(turn)))
  if (illnesses.length === 0) return 'done'
  const isDead = illnesses.some((one) => one.isDead)
  const waited = waitedMs(turn.job, step)
  const words = isDead && waited > quietMs ? await lastWords(turn, m, illnesses) : ''
  const why = `${sentenceOf(illnesses)}${words}`
  return isDead && waited > deadForMs
    ? {
        failed: `${why}. No other control plane was changed after it. ${takeBack(turn.change.kind)}`,
      }
    : { waiting: why, againMs: 1_000, isSafe }
}
