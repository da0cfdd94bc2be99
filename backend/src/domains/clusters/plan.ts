/**
 * The steps of an operation on a cluster, per server and for the whole cluster, all visible from
 * the start.
 */
import type { ClusterRole } from '#contract/clusters/clusters.ts'
import { joiningSteps, leavingSteps, wholeSteps } from '#contract/clusters/steps.ts'
import type { Place } from '../../db/columns.ts'
import type { Step } from '#contract/operations.ts'
import type { MemberRow } from './store.ts'

const placeSteps = { ...joiningSteps, ...leavingSteps }
const joining = Object.keys(joiningSteps) as (keyof typeof joiningSteps)[]
export const leaving = Object.keys(leavingSteps) as (keyof typeof leavingSteps)[]
export type WholeStep = keyof typeof wholeSteps

export type PlannedServer = Pick<MemberRow, 'node_id' | 'name' | 'role' | 'install_disk'> & {
  readonly workload_disks: readonly string[]
}
/** `node_id` is null for a step of the whole cluster. */
type PlannedStep = Pick<Step, 'key' | 'title' | 'node_id'>

/** The step of a server after its wipe: removal from etcd or Kubernetes. */
export const afterWipe = (role: ClusterRole): Place =>
  role === 'control_plane' ? 'forget-member' : 'forget-node'

/**
 * In a deletion etcd and Kubernetes disappear with the cluster, so servers need no removal from
 * them.
 */
const leavingWithAll: readonly Place[] = ['reset', 'release']

/** Steps of a server by role. Workers have no etcd step. */
export const placesOf = (role: ClusterRole): readonly Place[] =>
  role === 'control_plane' ? joining : joining.filter((p) => p !== 'etcd')

/** Key of a server's step, ending in the server's id. */
export const stepKey = (place: Place, nodeId: string): string => `${place}/${nodeId}`

const whole = (key: WholeStep): PlannedStep => ({ key, title: wholeSteps[key](), node_id: null })
const stepsOf = (server: PlannedServer, places: readonly Place[]): PlannedStep[] =>
  places
    .filter((p) => p !== 'done')
    .map((p) => ({
      key: stepKey(p, server.node_id),
      title: placeSteps[p](server),
      node_id: server.node_id,
    }))

/** Steps of a server that joins, and of one that leaves, for changes of a running cluster. */
export const joiningStepsOf = (server: PlannedServer): PlannedStep[] =>
  stepsOf(server, placesOf(server.role))
export const leavingStepsOf = (server: PlannedServer): PlannedStep[] =>
  stepsOf(
    server,
    leaving.filter((place) => place !== 'forget-member' || server.role === 'control_plane'),
  )

const inOrder = (servers: readonly PlannedServer[]) => [
  ...servers.filter((s) => s.role === 'control_plane'),
  ...servers.filter((s) => s.role === 'worker'),
]

/**
 * The steps of a creation: control planes first, because workers get their configuration after a
 * control plane answers.
 */
export function creationSteps(servers: readonly PlannedServer[]): PlannedStep[] {
  const of = (role: ClusterRole) =>
    servers.filter((s) => s.role === role).flatMap((s) => stepsOf(s, placesOf(role)))
  return [
    whole('secrets'),
    ...of('control_plane'),
    whole('bootstrap'),
    whole('control-plane'),
    ...of('worker'),
    whole('nodes'),
    whole('key'),
    whole('access'),
  ]
}

/**
 * The steps of a creation that continues after servers were replaced: first the replaced servers
 * are reset and released, then the creation proceeds.
 */
export function replacementSteps(
  leavers: readonly PlannedServer[],
  servers: readonly PlannedServer[],
): PlannedStep[] {
  return [...leavers.flatMap((s) => stepsOf(s, leavingWithAll)), ...creationSteps(servers)]
}

/**
 * The steps of a deletion: workers first, then control planes one by one. A forced deletion
 * contacts no server.
 */
export function deletionSteps(servers: readonly PlannedServer[], forced: boolean): PlannedStep[] {
  if (forced) return [whole('forget')]
  return [
    ...inOrder(servers)
      .toReversed()
      .flatMap((s) => stepsOf(s, leavingWithAll)),
    whole('forget'),
  ]
}

/**
 * The steps by which a single server leaves its cluster. `unwise`: a warning about the remaining
 * control planes.
 */
export const resetSteps = (server: PlannedServer, unwise: string | null): PlannedStep[] =>
  leavingStepsOf(server).map((step) =>
    unwise !== null && step.key === stepKey('forget-member', server.node_id)
      ? { ...step, title: `${step.title}. ${unwise}` }
      : step,
  )
