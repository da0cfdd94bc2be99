/**
 * Members of etcd that no server of the cluster has: one that was wiped without leaving etcd, or
 * that others have added. A dead one still counts for the majority (etcd, "Runtime
 * reconfiguration"), which restarts of the others then lose.
 */
import type { EtcdMember } from '#talos/client/client.ts'
import { KubernetesError } from '../../kubernetes/answers.ts'
import type { ClusterView } from './view.ts'
import { kubernetesOf } from './kubernetes.ts'
import { factsOf } from './view.ts'
import { etcdId, hostOf } from './removal.ts'
import { listed } from '../../sentences.ts'

/**
 * The servers of a cluster as etcd knows them. A server that has told the id of its member has no
 * second one, so `names` and `addresses` are those of the other servers. etcd doesn't compare names
 * (etcd-io/etcd#5244), and 3.6 may list former members again (#20967).
 */
interface Known {
  readonly ids: ReadonlySet<string>
  readonly names: ReadonlySet<string>
  readonly addresses: ReadonlySet<string>
}

/** A server that has just joined may have no name in etcd yet. Pure. */
export const strangersAmong = (
  members: readonly EtcdMember[],
  { ids, names, addresses }: Known,
): EtcdMember[] =>
  members.filter(
    ({ id, hostname, peerUrls }) =>
      !ids.has(id) && !names.has(hostname) && !peerUrls.some((url) => addresses.has(hostOf(url))),
  )

/** The name of a member, with its id if another member has the name too. */
function nameIn(members: readonly EtcdMember[], { id, hostname, peerUrls }: EtcdMember): string {
  const isShared = members.some((m) => m.id !== id && m.hostname === hostname)
  return hostname === '' ? (peerUrls[0] ?? id) : isShared ? `${hostname} (${etcdId(id)})` : hostname
}

/**
 * Why no control plane must restart while these members are dead; null if etcd keeps its majority.
 * Pure.
 */
export function strangersProblem(
  members: readonly EtcdMember[],
  dead: readonly EtcdMember[],
): string | null {
  const voters = members.filter((m) => !m.learner).length
  const lost = dead.filter((m) => !m.learner)
  if (lost.length === 0 || voters - lost.length - 1 > Math.floor(voters / 2)) return null
  const [the, do_, them] =
    lost.length === 1 ? ['the member', 'does', 'it'] : ['the members', 'do', 'them']
  const names = listed(lost.map((m) => nameIn(members, m)))
  const orders = lost.map((m) => `talosctl etcd remove-member ${etcdId(m.id)}`).join(', ')
  return `etcd has ${the} ${names}, which no server of the cluster has and which ${do_} not run: etcd would lose its majority while a control plane restarts. Remove ${them} first: ${orders}`
}

/**
 * Why this control plane must not restart, or null. A member that is down gives the majority
 * nothing, so its restart takes nothing from it, and may bring it back. One with an alarm votes, and
 * one that does not answer may. Pure.
 */
export function whyNotRestart(
  reports: readonly {
    readonly node_id: string
    readonly answers: boolean
    readonly problem: string | null
    readonly alarm: string | null
    readonly strangers: string | null
  }[],
  node_id: string,
): string | null {
  const own = reports.find((r) => r.node_id === node_id)
  const votes = own !== undefined && (!own.answers || own.problem === null || own.alarm !== null)
  return votes ? own.strangers : null
}

/**
 * The problem with strangers among the members that a control plane reports; null if there is none.
 * @param told the ids of their members that the control planes have told, by the server's id
 */
export async function problemOfStrangers(
  { parts, state, signal }: ClusterView,
  members: readonly EtcdMember[],
  told: ReadonlyMap<string, string>,
): Promise<string | null> {
  const ids = new Set(told.values())
  if (members.every(({ id }) => ids.has(id))) return null
  const own = state.members.filter((m) => m.released_at === null)
  const others = own.filter((m) => !told.has(m.node_id))
  const facts = await factsOf(parts, parts.db, others)
  const strangers = strangersAmong(members, {
    ids,
    names: new Set(others.map((m) => m.name)),
    addresses: new Set(facts.map((f) => f.address)),
  })
  if (strangersProblem(members, strangers) === null) return null
  const ready = await readyNodes({ parts, state, signal })
  // The node of a server's name runs the server's own member.
  for (const m of own) if (told.has(m.node_id)) ready.delete(m.name)
  return strangersProblem(
    members,
    strangers.filter((m) => !ready.has(m.hostname)),
  )
}

/** Names of the nodes that are Ready; empty if Kubernetes doesn't answer. */
async function readyNodes({ parts, state, signal }: ClusterView): Promise<Set<string>> {
  try {
    const nodes = await (await kubernetesOf(parts, state)).nodes(signal)
    return new Set(nodes.filter((n) => n.ready).map((n) => n.name))
  } catch (error) {
    if (signal.aborted || !(error instanceof KubernetesError)) throw error
    return new Set()
  }
}
