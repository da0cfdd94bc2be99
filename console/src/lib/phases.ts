/**
 * Steps of an operation, gathered for reading: what each server of a cluster passes by itself is one phase. Wherever it is said how far an operation is,
 * phases are counted.
 */
import type { ClusterRole } from '#contract/clusters/clusters.ts'
import type { Operation, Step, StepStatus } from '#contract/operations.ts'
import { sentence } from './text.ts'

/** A phase that each server passes by itself, told apart by role where the order of the two differs; or a step of the whole cluster. */
const phases: readonly { id: string; rank: number; title: string; short: string }[] = [
  { id: 'reset', rank: 0, title: 'Reset servers', short: 'Reset' },
  { id: 'release', rank: 1, title: 'Back in maintenance', short: 'Free' },
  { id: 'secrets', rank: 10, title: 'Certificates and keys, sealed', short: '' },
  { id: 'control_plane/config', rank: 11, title: 'Configurations of the control planes', short: 'Config' },
  { id: 'control_plane/apply', rank: 12, title: 'Send them to the control planes', short: 'Apply' },
  { id: 'control_plane/install', rank: 13, title: 'Install Talos on the control planes', short: 'Install' },
  { id: 'control_plane/boot', rank: 14, title: 'Control planes restart and answer over the secured API', short: 'API' },
  { id: 'bootstrap', rank: 20, title: 'Start etcd, once', short: '' },
  { id: 'control_plane/etcd', rank: 21, title: 'Control planes are members of etcd', short: 'etcd' },
  { id: 'control-plane', rank: 22, title: 'Control plane healthy', short: '' },
  { id: 'control_plane/join', rank: 23, title: 'Control planes are Ready in Kubernetes', short: 'Ready' },
  { id: 'worker/config', rank: 11.5, title: 'Configurations of the workers', short: 'Config' },
  { id: 'worker/apply', rank: 31, title: 'Send them to the workers', short: 'Apply' },
  { id: 'worker/install', rank: 32, title: 'Install Talos on the workers', short: 'Install' },
  { id: 'worker/boot', rank: 33, title: 'Workers restart and answer over the secured API', short: 'API' },
  { id: 'worker/join', rank: 34, title: 'Workers are Ready in Kubernetes', short: 'Ready' },
  { id: 'nodes', rank: 40, title: 'Every Kubernetes node is Ready', short: '' },
  { id: 'key', rank: 41, title: 'Cluster key as a Secret', short: '' },
  { id: 'access', rank: 42, title: 'Access of operators', short: '' },
  { id: 'forget', rank: 50, title: 'Forget the cluster', short: '' },
]
const phaseById = new Map(phases.map((p) => [p.id, p]))

/** The word for a column of what servers pass: "Install" for `install`. */
export const shortOf = (place: string): string => (phaseById.get(place) ?? phaseById.get(`control_plane/${place}`))?.short ?? place

/** A server that a phase can be about. */
interface Named {
  readonly node_id: string
  readonly name: string
}

export interface Phase {
  key: string
  title: string
  state: StepStatus
  startedAt: string | null
  endedAt: string | null
  attempt: number
  /** The server that the phase waits for or failed on, and the sentence why. */
  held: { node_id: string; name: string } | null
  reason: string | null
  /** "2 of 3" while some servers are behind it. */
  progress: string | null
  steps: readonly Step[]
}

const over = (s: Step) => s.status === 'done' || s.status === 'skipped'

/** The state of several steps as one: the worst that needs somebody first. */
export function stateOf(steps: readonly Step[]): StepStatus {
  for (const state of ['failed', 'waiting', 'running'] as const) if (steps.some((s) => s.status === state)) return state
  if (steps.every((s) => s.status === 'skipped')) return 'skipped'
  if (steps.every(over)) return 'done'
  return steps.some(over) ? 'running' : 'todo'
}

const earliest = (times: readonly (string | null)[]): string | null =>
  times.reduce<string | null>((a, t) => (t !== null && (a === null || t < a) ? t : a), null)
const latest = (times: readonly (string | null)[]): string | null => times.reduce<string | null>((a, t) => (t !== null && (a === null || t > a) ? t : a), null)

/** Of an operation that has ended nothing is under way: what was not done, or only for some, is left to do. */
export const atRest = (state: StepStatus, isOver: boolean): StepStatus => (isOver && (state === 'running' || state === 'waiting') ? 'todo' : state)

/**
 * The phases in their order. `isOver`: the operation has ended. `since`: when it was begun; of a phase that it does again for some servers, the time is of
 * these, not of what an operation before it did.
 */
export function phasesOf(steps: readonly Step[], members: readonly Named[] = [], isOver = false, since = ''): Phase[] {
  const byId = new Map(members.map((m) => [m.node_id, m]))
  // Only control planes take part in etcd, so the steps themselves tell the roles.
  const controlPlanes = new Set(steps.flatMap((s) => (s.node_id !== null && s.key.startsWith('etcd/') ? [s.node_id] : [])))
  const groups = new Map<string, Step[]>()
  for (const step of steps) {
    const place = step.key.split('/')[0]!
    const role: ClusterRole = step.node_id !== null && controlPlanes.has(step.node_id) ? 'control_plane' : 'worker'
    const withRole = `${role}/${place}`
    // Steps that are about neither a server nor the whole cluster, such as those of a subnet, stand alone.
    const id = step.node_id !== null && phaseById.has(withRole) ? withRole : step.node_id === null && !phaseById.has(place) ? step.key : place
    groups.set(id, [...(groups.get(id) ?? []), step])
  }
  const rank = (id: string) => phaseById.get(id)?.rank ?? 45
  return [...groups]
    .toSorted(([a], [b]) => rank(a) - rank(b))
    .map(([key, group]) => {
      const state = atRest(stateOf(group), isOver)
      const holding = group.find((s) => s.status === 'failed') ?? group.find((s) => s.status === 'waiting') ?? group.find((s) => s.status === 'running')
      const member = holding?.node_id ? byId.get(holding.node_id) : undefined
      const finished = group.filter(over).length
      const now = group.filter((s) => s.started_at !== null && s.started_at >= since)
      const own = now.length > 0 ? now : group
      return {
        key,
        title: phaseById.get(key)?.title ?? group[0]!.title,
        state,
        // What was waited for as the operation ended has yet to be done: it has no time.
        startedAt: state === 'todo' ? null : earliest(own.map((s) => s.started_at)),
        endedAt: group.every((s) => over(s) || s.status === 'failed') ? latest(own.map((s) => s.ended_at)) : null,
        attempt: Math.max(...group.map((s) => s.attempt)),
        held: member ? { node_id: member.node_id, name: member.name } : null,
        reason: holding?.reason ?? null,
        progress: group.length > 1 && finished > 0 && finished < group.length ? `${finished} of ${group.length}` : null,
        steps: group,
      }
    })
}

/** "step 4 of 12": the phase that it is at, counted from 1, and how many there are. */
export const phaseCount = (list: readonly Phase[]): { at: number; of: number } => ({
  at: Math.min(list.length, list.filter((p) => p.state === 'done' || p.state === 'skipped').length + 1),
  of: list.length,
})

/** The sentence that says where an operation is: why it doesn't move, or its step and what that waits for. */
export function nowOf({ steps, status, reason }: Pick<Operation, 'steps' | 'status' | 'reason'>): string {
  // Held since a restore: no step of it goes on, whatever the step waited for before.
  if (status === 'waiting' && reason !== null) return reason
  const current = steps.find((step) => step.status === 'waiting') ?? steps.find((step) => step.status === 'running')
  return [current?.title, current?.reason ?? reason].filter(Boolean).join('. ') || sentence(status)
}
