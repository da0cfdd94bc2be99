/** Steps of an operation on a cluster, gathered for reading: one line per phase, and a matrix of every server by every phase. */
import type { Cluster, ClusterRole } from '#contract/clusters.ts'
import type { Operation, Step } from '#contract/operations.ts'
import { clock } from '../../lib/time.ts'
import type { StepState } from '../../ui/Timeline.tsx'

type Member = Cluster['servers'][number]

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
const phaseOf = new Map(phases.map((p) => [p.id, p]))

export interface Phase {
  key: string
  title: string
  state: StepState
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
export function stateOf(steps: readonly Step[]): StepState {
  for (const state of ['failed', 'waiting', 'running'] as const) if (steps.some((s) => s.status === state)) return state
  if (steps.every((s) => s.status === 'skipped')) return 'skipped'
  if (steps.every(over)) return 'done'
  return steps.some(over) ? 'running' : 'todo'
}

const earliest = (times: readonly (string | null)[]): string | null =>
  times.reduce<string | null>((a, t) => (t !== null && (a === null || t < a) ? t : a), null)
const latest = (times: readonly (string | null)[]): string | null => times.reduce<string | null>((a, t) => (t !== null && (a === null || t > a) ? t : a), null)

/** Of an operation that has ended nothing is under way: what was not done, or only for some, is left to do. */
const atRest = (state: StepState, isOver: boolean): StepState => (isOver && (state === 'running' || state === 'waiting') ? 'todo' : state)

/**
 * The phases in their order. `isOver`: the operation has ended. `since`: when it was begun; of a phase that it does again for some servers, the time is of
 * these, not of what an operation before it did.
 */
export function phasesOf(steps: readonly Step[], members: readonly Member[], isOver = false, since = ''): Phase[] {
  const byId = new Map(members.map((m) => [m.node_id, m]))
  const groups = new Map<string, Step[]>()
  for (const step of steps) {
    const place = step.key.split('/')[0]!
    const role: ClusterRole | undefined = step.node_id === null ? undefined : byId.get(step.node_id)?.role
    const withRole = `${role ?? 'control_plane'}/${place}`
    // Steps that are about neither a server nor the whole cluster, such as those of a subnet, stand alone.
    const id = step.node_id !== null && phaseOf.has(withRole) ? withRole : step.node_id === null && !phaseOf.has(place) ? step.key : place
    groups.set(id, [...(groups.get(id) ?? []), step])
  }
  const rank = (id: string) => phaseOf.get(id)?.rank ?? 45
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
        title: phaseOf.get(key)?.title ?? group[0]!.title,
        state,
        startedAt: earliest(own.map((s) => s.started_at)),
        endedAt: group.every((s) => over(s) || s.status === 'failed') ? latest(own.map((s) => s.ended_at)) : null,
        attempt: Math.max(...group.map((s) => s.attempt)),
        held: member ? { node_id: member.node_id, name: member.name } : null,
        reason: holding?.reason ?? null,
        progress: group.length > 1 && finished > 0 && finished < group.length ? `${finished} of ${group.length}` : null,
        steps: group,
      }
    })
}

/** Places of a server on its way out of a cluster, and into it. */
const ways: readonly (readonly string[])[] = [
  ['reset', 'release'],
  ['config', 'apply', 'install', 'boot', 'etcd', 'join'],
]

/**
 * A matrix of servers by steps for those that leave and one for those that join, where the operation has such: columns that it has, and a row per server,
 * undefined where a phase does not concern it.
 */
export const matricesOf = (operation: Pick<Operation, 'steps'>, members: readonly Member[], isOver = false) =>
  ways.map((way) => matrixOf(way, operation, members, isOver)).filter(({ rows }) => rows.length > 0)

function matrixOf(way: readonly string[], operation: Pick<Operation, 'steps'>, members: readonly Member[], isOver: boolean) {
  const places = way.filter((place) => operation.steps.some((s) => s.key.startsWith(`${place}/`)))
  const short = (place: string) => (phaseOf.get(place) ?? phaseOf.get(`control_plane/${place}`))?.short ?? place
  const of = new Map(operation.steps.map((s) => [s.key, s]))
  return {
    columns: places.map(short),
    rows: members.flatMap((member) => {
      const steps = places.map((place) => of.get(`${place}/${member.node_id}`))
      if (steps.every((s) => s === undefined)) return []
      return [
        {
          member,
          cells: steps.map((s) => (s ? { state: atRest(s.status, isOver), reason: s.reason } : undefined)),
          hot: heat(steps, isOver),
        },
      ]
    }),
  }
}

/** What a row is marked by: a failure, or else an attempt that is not the first. */
function heat(steps: readonly (Step | undefined)[], isOver: boolean): 'failed' | 'waiting' | undefined {
  if (steps.some((s) => s?.status === 'failed')) return 'failed'
  return !isOver && steps.some((s) => s?.status === 'waiting' && s.attempt > 1) ? 'waiting' : undefined
}

/** "step 4 of 12": phases behind, and all. */
export const phaseCount = (list: readonly Phase[]): { at: number; of: number } => ({
  at: Math.min(list.length, list.filter((p) => p.state === 'done' || p.state === 'skipped').length + 1),
  of: list.length,
})

/** A line of a log beside a step: only when on the clock, so that what it says has room. */
export const logLine = (line: string): string => line.replace(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z(?= )/, clock)
