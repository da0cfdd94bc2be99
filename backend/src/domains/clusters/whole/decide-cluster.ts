/**
 * Decides the next action for a cluster as a whole, and its status and sentence: pure functions of the stored facts. The
 * servers have their own decisions (`decide-server.ts`); a slow server delays the cluster only where the order requires it.
 */
import type { ClusterStatus } from '#contract/clusters/clusters.ts'
import type { Place } from '../../../db/columns.ts'
import { listed } from '../sentences.ts'

export interface Member {
  readonly node_id: string
  readonly name: string
  readonly role: 'control_plane' | 'worker'
  readonly position: number
  readonly wanted: 'joined' | 'released'
  readonly at: Place
  readonly sent: boolean
  readonly secured: boolean
  readonly etcd: boolean
  readonly nodeReady: boolean
  readonly failed: boolean
  readonly failure: string | null
  readonly released: boolean
}

export interface ClusterFacts {
  readonly wanted: 'ready' | 'removed'
  readonly forced: boolean
  readonly secrets: boolean
  readonly escrowed: boolean
  readonly bootstrap: { readonly node_id: string; readonly confirmed: boolean } | null
  readonly controlPlaneHealthy: boolean
  readonly nodesReady: boolean
  readonly keyApplied: boolean
  readonly accessApplied: boolean
  readonly wasReady: boolean
  /** In plan order; released ones only in a deletion. */
  readonly members: readonly Member[]
}

export type ClusterAct =
  | 'forget'
  | 'secrets'
  | 'escrow'
  /** No control plane answers yet. */
  | 'wait-control-plane'
  | 'bootstrap'
  | 'check-control-plane'
  | 'check-nodes'
  | 'key'
  | 'access'
  | 'watch'
  | 'wait-release'

export function decideCluster(c: ClusterFacts): ClusterAct {
  if (c.wanted === 'removed') return c.forced || c.members.every((m) => m.released) ? 'forget' : 'wait-release'
  if (!c.secrets) return 'secrets'
  if (!c.escrowed) return 'escrow'
  // A cluster that was taken over is ready before it has Steelyard's key.
  if (c.wasReady) return !c.keyApplied ? 'key' : c.accessApplied ? 'watch' : 'access'
  if (!c.bootstrap?.confirmed)
    return c.bootstrap || c.members.some((m) => m.role === 'control_plane' && m.wanted === 'joined' && m.secured) ? 'bootstrap' : 'wait-control-plane'
  if (!c.controlPlaneHealthy) return 'check-control-plane'
  if (!c.nodesReady) return 'check-nodes'
  if (!c.keyApplied) return 'key'
  return c.accessApplied ? 'watch' : 'access'
}

/** The control plane for the bootstrap: the first by position that answers and has not failed, or null. */
export const chooseForBootstrap = (members: readonly Member[]): Member | null =>
  members.filter((m) => m.role === 'control_plane' && m.wanted === 'joined' && m.secured && !m.failed).toSorted((a, b) => a.position - b.position)[0] ?? null

/**
 * Why a leaving server has to wait, or null. Workers go first, all at once; then control planes, one by one from the
 * last to the first, if etcd was started.
 */
export function waitTurn(member: Member, members: readonly Member[], c: { wanted: 'ready' | 'removed'; etcdBegun: boolean }): string | null {
  if (c.wanted === 'ready' || member.role === 'worker') return null
  const staying = members.filter((m) => !m.released && m.node_id !== member.node_id)
  const workers = staying.filter((m) => m.role === 'worker' && m.sent)
  if (workers.length > 0) return `Workers first: ${listed(workers.map((w) => w.name))}`
  if (!c.etcdBegun) return null
  const before = staying.filter((m) => m.role === 'control_plane' && m.sent && m.position > member.position)
  return before.length > 0 ? `Control planes leave etcd one by one: ${listed(before.map((b) => b.name))} first` : null
}

/** Failed members that block the cluster. Servers replaced during a creation don't. */
const failedOf = (c: ClusterFacts): Member[] => c.members.filter((m) => m.failed && !m.released && (c.wanted === 'removed' || m.wanted === 'joined'))

/** Whether the creation is stuck: a server failed, and every other one is as far as it can get without it. */
export function isStuck(c: ClusterFacts): boolean {
  const failed = failedOf(c)
  if (failed.length === 0) return false
  if (c.wanted === 'removed')
    return c.members.every((m) => m.released || m.failed || waitTurn(m, c.members, { wanted: 'removed', etcdBegun: c.bootstrap !== null }) !== null)
  const others = c.members.filter((m) => m.wanted === 'joined' && !m.failed)
  const controlPlanes = others.filter((m) => m.role === 'control_plane')
  const settled = (m: Member) => (c.controlPlaneHealthy ? m.nodeReady : m.role === 'worker' ? m.at === 'apply' : m.secured)
  // Without a control plane for the bootstrap, or if the chosen one failed, no other server can continue.
  const chosenFailed = c.bootstrap !== null && !c.bootstrap.confirmed && failed.some((m) => m.node_id === c.bootstrap!.node_id)
  if (!c.controlPlaneHealthy && controlPlanes.length > 0 && !chosenFailed && !(c.bootstrap?.confirmed ?? false) && controlPlanes.some((m) => m.secured))
    return false
  return others.every(settled)
}

const names = (members: readonly Pick<Member, 'name'>[]) => listed(members.map((m) => m.name))

/** What a deletion waits for. */
export const waitingForMembers = (left: readonly Pick<Member, 'name'>[]): string | null =>
  left.length > 0 ? `Waiting for ${names(left)} to be back in maintenance` : null

/** Why a member failed, with its name. */
const failureOf = ({ name, failure }: Pick<Member, 'name' | 'failure'>): string =>
  failure !== null && ` ${failure}`.includes(` ${name} `) ? failure : `${name}: ${failure ?? 'it failed'}`

/** The status, and what the cluster waits for. */
export function describe(c: ClusterFacts): { status: ClusterStatus; reason: string | null } {
  const failed = failedOf(c)
  if (c.wanted === 'removed') {
    const left = c.members.filter((m) => !m.released)
    const stuck = failed.length > 0 ? failureOf(failed[0]!) : null
    return { status: 'deleting', reason: stuck ?? waitingForMembers(left) }
  }
  if (failed.length > 0 && isStuck(c)) return { status: 'failed', reason: failureOf(failed[0]!) }
  if (!c.secrets || !c.escrowed) return { status: 'pending', reason: 'Making certificates and keys' }
  const joined = c.members.filter((m) => m.wanted === 'joined' && !m.failed)
  const unsecured = joined.filter((m) => m.role === 'control_plane' && !m.secured)
  if (!c.bootstrap) {
    const unsent = unsecured.filter((m) => !m.sent)
    if (unsent.length > 0 && unsent.length === unsecured.length)
      return { status: 'configuring', reason: `Sending ${names(unsent)} ${unsent.length === 1 ? 'its' : 'their'} configuration` }
    if (unsecured.length === 0) return { status: 'bootstrapping', reason: 'Choosing the control plane that etcd is started on' }
    return { status: 'installing', reason: `Waiting for ${names(unsecured)} to install and restart` }
  }
  if (!c.bootstrap.confirmed)
    return { status: 'bootstrapping', reason: `Starting etcd on ${joined.find((m) => m.node_id === c.bootstrap!.node_id)?.name ?? 'the first control plane'}` }
  if (!c.controlPlaneHealthy) return { status: 'bootstrapping', reason: 'Waiting for etcd, trustd and the Kubernetes API to be healthy' }
  const late = joined.filter((m) => !m.nodeReady)
  if (!c.nodesReady) {
    const installing = late.filter((m) => !m.secured)
    if (installing.length > 0) return { status: 'installing', reason: `Waiting for ${names(installing)} to install` }
    return { status: 'bootstrapping', reason: late.length > 0 ? `Waiting for ${names(late)} to be Ready in Kubernetes` : 'Waiting for Kubernetes' }
  }
  return { status: 'bootstrapping', reason: c.keyApplied ? 'Giving operators their access' : 'Putting the cluster key into the cluster' }
}
