/**
 * Groups the steps of an operation for display: equal steps of several servers are one phase.
 * Progress is always counted in phases.
 */
import type { ClusterRole } from '#contract/clusters/clusters.ts'
import type { Operation, Step, StepStatus } from '#contract/operations.ts'
import { sentence } from './text.ts'

/**
 * The phases in order. A phase is either a step that each server passes (one phase per role if the
 * order differs) or a step of the whole cluster.
 */
const phases: readonly { id: string; rank: number; title: string; short: string }[] = [
  { id: 'reset', rank: 0, title: 'Reset servers', short: 'Reset' },
  { id: 'release', rank: 1, title: 'Back in maintenance', short: 'Free' },
  { id: 'secrets', rank: 10, title: 'Certificates and keys, stored encrypted', short: '' },
  {
    id: 'control_plane/config',
    rank: 11,
    title: 'Configurations of the control planes',
    short: 'Config',
  },
  {
    id: 'control_plane/apply',
    rank: 12,
    title: 'Send the configurations to the control planes',
    short: 'Apply',
  },
  {
    id: 'control_plane/install',
    rank: 13,
    title: 'Install Talos on the control planes',
    short: 'Install',
  },
  {
    id: 'control_plane/boot',
    rank: 14,
    title: 'Control planes restart and answer over the secured API',
    short: 'API',
  },
  { id: 'bootstrap', rank: 20, title: 'Bootstrap etcd', short: '' },
  {
    id: 'control_plane/etcd',
    rank: 21,
    title: 'Control planes are members of etcd',
    short: 'etcd',
  },
  { id: 'control-plane', rank: 22, title: 'Control plane healthy', short: '' },
  {
    id: 'control_plane/join',
    rank: 23,
    title: 'Control planes are Ready in Kubernetes',
    short: 'Ready',
  },
  { id: 'worker/config', rank: 11.5, title: 'Configurations of the workers', short: 'Config' },
  { id: 'worker/apply', rank: 31, title: 'Send the configurations to the workers', short: 'Apply' },
  { id: 'worker/install', rank: 32, title: 'Install Talos on the workers', short: 'Install' },
  {
    id: 'worker/boot',
    rank: 33,
    title: 'Workers restart and answer over the secured API',
    short: 'API',
  },
  { id: 'worker/join', rank: 34, title: 'Workers are Ready in Kubernetes', short: 'Ready' },
  { id: 'nodes', rank: 40, title: 'Every Kubernetes node is Ready', short: '' },
  { id: 'key', rank: 41, title: 'Cluster key as a Secret', short: '' },
  { id: 'access', rank: 42, title: 'Access of operators', short: '' },
  { id: 'forget', rank: 50, title: 'Forget the cluster', short: '' },
]
const phaseById = new Map(phases.map((p) => [p.id, p]))

/** Column heading of a phase: "Install" for `install`. */
export const shortOf = (place: string): string =>
  (phaseById.get(place) ?? phaseById.get(`control_plane/${place}`))?.short ?? place

const over = (s: Step) => s.status === 'done' || s.status === 'skipped'

/**
 * The combined state of several steps: failed takes precedence over waiting, and waiting over
 * running.
 */
export function stateOf(steps: readonly Step[]): StepStatus {
  for (const state of ['failed', 'waiting', 'running'] as const)
    if (steps.some((s) => s.status === state)) return state
  if (steps.every((s) => s.status === 'skipped')) return 'skipped'
  if (steps.every(over)) return 'done'
  return steps.some(over) ? 'running' : 'todo'
}

const inOrder = (times: readonly (string | null)[]): string[] =>
  times.filter((time) => time !== null).toSorted()

/** Nothing runs in an operation that has ended: unfinished phases have the state `todo`. */
export const atRest = (state: StepStatus, isOver: boolean): StepStatus =>
  isOver && (state === 'running' || state === 'waiting') ? 'todo' : state

/**
 * Groups steps into phases, in order. `isOver`: the operation has ended. `since`: when the
 * operation started. If some steps of a phase have started since then, the phase's times are the
 * times of these steps; earlier steps are from an earlier operation.
 */
export function phasesOf(
  steps: readonly Step[],
  members: readonly { readonly node_id: string; readonly name: string }[] = [],
  isOver = false,
  since = '',
) {
  const byId = new Map(members.map((m) => [m.node_id, m]))
  // Only control planes take part in etcd, so servers with an etcd step are control planes.
  const controlPlanes = new Set(
    steps.flatMap((s) => (s.node_id !== null && s.key.startsWith('etcd/') ? [s.node_id] : [])),
  )
  const groups = new Map<string, Step[]>()
  for (const step of steps) {
    const place = step.key.split('/')[0]!
    const role: ClusterRole =
      step.node_id !== null && controlPlanes.has(step.node_id) ? 'control_plane' : 'worker'
    const withRole = `${role}/${place}`
    // Other steps, such as those of a subnet, are a phase each.
    const id =
      step.node_id !== null && phaseById.has(withRole)
        ? withRole
        : step.node_id === null && !phaseById.has(place)
          ? step.key
          : place
    groups.set(id, [...(groups.get(id) ?? []), step])
  }
  const rank = (id: string) => phaseById.get(id)?.rank ?? 45
  return [...groups]
    .toSorted(([a], [b]) => rank(a) - rank(b))
    .map(([key, group]) => {
      const state = atRest(stateOf(group), isOver)
      const holding =
        group.find((s) => s.status === 'failed') ??
        group.find((s) => s.status === 'waiting') ??
        group.find((s) => s.status === 'running')
      const member = holding?.node_id ? byId.get(holding.node_id) : undefined
      const finished = group.filter(over).length
      const now = group.filter((s) => s.started_at !== null && s.started_at >= since)
      const own = now.length > 0 ? now : group
      return {
        key,
        title: phaseById.get(key)?.title ?? group[0]!.title,
        state,
        // A phase that was waiting when the operation ended has the state `todo`, so it has no
        // times.
        startedAt: state === 'todo' ? null : (inOrder(own.map((s) => s.started_at))[0] ?? null),
        endedAt: group.every((s) => over(s) || s.status === 'failed')
          ? (inOrder(own.map((s) => s.ended_at)).at(-1) ?? null)
          : null,
        attempt: Math.max(...group.map((s) => s.attempt)),
        /** The server that the phase waits for or failed on. */
        held: member ? { node_id: member.node_id, name: member.name } : null,
        reason: holding?.reason ?? null,
        /** "2 of 3" while only some servers have passed the phase. */
        progress:
          group.length > 1 && finished > 0 && finished < group.length
            ? `${finished} of ${group.length}`
            : null,
        steps: group,
      }
    })
}
export type Phase = ReturnType<typeof phasesOf>[number]

/**
 * "step 4 of 12": the current phase, counted from 1, and the number of phases. The current phase is
 * the one that holds the operation up, although servers that are ahead may be at later phases.
 */
export function phaseCount(list: readonly Phase[]): { at: number; of: number } {
  const first = (states: readonly StepStatus[]) => list.findIndex((p) => states.includes(p.state))
  const at = [first(['failed']), first(['waiting']), first(['running', 'todo'])].find((i) => i >= 0)
  return { at: (at ?? list.length - 1) + 1, of: list.length }
}

/**
 * What an operation is doing: why it is on hold, or its current step and what the step waits for.
 */
export function nowOf({
  steps,
  status,
  reason,
}: Pick<Operation, 'steps' | 'status' | 'reason'>): string {
  // The operation has been on hold since a restore: no step continues, whatever the step waited for
  // before.
  if (status === 'waiting' && reason !== null) return reason
  const current =
    steps.find((step) => step.status === 'waiting') ??
    steps.find((step) => step.status === 'running')
  return [current?.title, current?.reason ?? reason].filter(Boolean).join('. ') || sentence(status)
}
