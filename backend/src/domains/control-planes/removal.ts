/**
 * etcd and Kubernetes of a cluster that loses a server: which servers are members, which may leave,
 * and the removal of lost servers.
 */
import { Problem } from '#contract/errors.ts'
import { forNow, no, type Refusal, type Verdict, yes } from '#contract/rule.ts'
import { counted } from '#contract/words.ts'
import type { EtcdMember, TalosClient } from '#talos/client/client.ts'
import { TalosError } from '#talos/client/errors.ts'
import type { Job } from '../../engine/engine.ts'
import { KubernetesError } from '../../kubernetes/answers.ts'
import { controlPlanesOf, kubernetesOf, nodePath } from './kubernetes.ts'
import { listed } from '../../sentences.ts'
import { timeLimit } from '../../time-limit.ts'
import type { Member, ClusterState, ControlPlaneParts } from './view.ts'

/**
 * Limits in ms for each call and for all calls to one control plane. A slower control plane counts
 * as silent.
 */
const etcdDeadlineMs = 5_000
const etcdWholeMs = 8_000

export interface EtcdMembers {
  /** Two members may have the name of one server: one of them is dead. */
  readonly members: readonly {
    readonly id: string
    readonly name: string
    /** Learners have no vote and don't count towards a majority. */
    readonly learner: boolean
    /** Whether a server runs this member, and it is healthy. */
    readonly healthy: boolean
  }[]
}

/** As `talosctl etcd members` shows it. */
export const etcdId = (id: string): string => BigInt(id).toString(16)

/**
 * How the dead members are removed that have the name of a server whose own member is healthy; null
 * if there is none. Nothing brings such a member back. Pure.
 */
export function removalOfTwins(
  etcd: EtcdMembers,
  among: EtcdMembers['members'] = etcd.members,
): string | null {
  const twins = among.filter((m) => !m.healthy && isHealthyIn(etcd, m.name))
  if (twins.length === 0) return null
  const names = listed(twins.map((m) => `${m.name} (${etcdId(m.id)})`))
  const orders = twins.map((m) => `talosctl etcd remove-member ${etcdId(m.id)}`).join(', ')
  return twins.length === 1
    ? `Remove the dead member ${names} first: ${orders}`
    : `Remove the dead members ${names} first: ${orders}`
}

/** Whether the server has a healthy member. Pure. */
export const isHealthyIn = (etcd: EtcdMembers | null, name: string): boolean =>
  etcd?.members.some((e) => e.name === name && e.healthy) === true

const isSecured = (m: Member): boolean =>
  m.role === 'control_plane' && m.secured_at !== null && m.released_at === null

/** `10.0.0.3` from `https://10.0.0.3:2380`; '' if the text is no URL. */
export const hostOf = (url: string): string =>
  URL.canParse(url) ? new URL(url).hostname.replace(/^\[(.*)\]$/, '$1') : ''

async function secure<T>(
  { servers, secrets }: ControlPlaneParts,
  m: Member,
  act: (client: TalosClient) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const connection = await servers.connection(m.node_id)
  return connection.secure((await secrets.talosAdmin(m.cluster_id))!, act, {
    signal,
    deadlineMs: etcdDeadlineMs,
  })
}

async function namesByAddress(
  { servers }: ControlPlaneParts,
  members: readonly Member[],
): Promise<Map<string, string>> {
  const names = new Map<string, string>()
  for (const m of members) {
    const address = await servers.connection(m.node_id).then(
      (connection) => connection.address,
      () => undefined,
    )
    if (address !== undefined) names.set(address, m.name)
  }
  return names
}

/** What a control plane reports about etcd. */
interface Answer {
  readonly healthy: boolean
  readonly members: readonly EtcdMember[]
  /** The id of its member; null if unknown. */
  readonly memberId: string | null
}
const silent: Answer = { healthy: false, members: [], memberId: null }

/** `silent` if it doesn't answer, or its etcd isn't healthy. */
async function askEtcd(parts: ControlPlaneParts, m: Member, signal: AbortSignal): Promise<Answer> {
  try {
    return await secure(
      parts,
      m,
      async (client) => {
        const etcd = (await client.services()).find((s) => s.id === 'etcd')
        if (etcd?.state !== 'Running' || etcd.healthy !== true) return silent
        const [members, memberId] = await Promise.all([
          client.etcdMembers().catch(() => []),
          client.etcdStatus().then(
            (status) => status.memberId,
            () => null,
          ),
        ])
        return { healthy: true, members, memberId }
      },
      AbortSignal.any([signal, timeLimit(etcdWholeMs)]),
    )
  } catch (error) {
    if (signal.aborted) throw error
    return silent
  }
}

/**
 * Members of etcd and which of them are healthy; null if no control plane reports them. `except` is
 * not queried. A member that was added but never started has no name in etcd: here it gets the name
 * of the server at its address.
 */
export async function etcdMembers(
  parts: ControlPlaneParts,
  members: readonly Member[],
  signal: AbortSignal,
  except?: string,
): Promise<EtcdMembers | null> {
  const asked = members.filter((m) => isSecured(m) && m.node_id !== except)
  const answers = await Promise.all(
    asked.map(async (m) => ({ name: m.name, ...(await askEtcd(parts, m, signal)) })),
  )
  const list = answers.find((a) => a.members.length > 0)?.members
  if (!list) return null
  const names = list.some((e) => e.hostname === '')
    ? await namesByAddress(parts, members)
    : new Map<string, string>()
  const nameOf = (e: EtcdMember) =>
    e.hostname ||
    (e.peerUrls.map((url) => names.get(hostOf(url))).find((name) => name !== undefined) ?? '')
  return {
    members: list.map((e) => {
      const name = nameOf(e)
      const healthy = answers.some(
        (a) => a.healthy && (a.memberId === null ? a.name === name : a.memberId === e.id),
      )
      return { id: e.id, name, learner: e.learner, healthy }
    }),
  }
}

/**
 * Removes a member from etcd through another control plane. Safe to repeat. @throws TalosError,
 * Problem
 */
async function removeEtcdMember(
  parts: ControlPlaneParts,
  members: readonly Member[],
  nodeId: string,
  etcdId: string,
  signal: AbortSignal,
): Promise<void> {
  let last: Error = new TalosError('unavailable', 'the cluster has no other control plane')
  for (const m of controlPlanesOf(members).filter((one) => one.node_id !== nodeId)) {
    try {
      return await secure(parts, m, (client) => client.etcdRemoveMember(etcdId), signal)
    } catch (error) {
      if (signal.aborted || !(error instanceof TalosError || error instanceof Problem)) throw error
      // The member was removed a moment ago, by the machine itself or by a call whose response was
      // lost.
      if (error instanceof TalosError && error.kind === 'not_found') return
      last = error
    }
  }
  throw last
}

const majorityOf = (members: number): number => Math.floor(members / 2) + 1

/**
 * Two majorities are needed (etcd, "Runtime reconfiguration"): of the current members, because the
 * removal is a vote, and of the remaining members, or the cluster loses its quorum. `isLeaving`: by
 * default all members of the server.
 */
export function canLeaveEtcd(
  { members }: EtcdMembers,
  name: string,
  cluster: string,
  isLeaving: (m: EtcdMembers['members'][number]) => boolean = (m) => m.name === name,
): Verdict {
  const voters = members.filter((m) => !m.learner)
  if (!voters.some(isLeaving)) return yes
  const staying = voters.filter((m) => !isLeaving(m))
  if (staying.length === 0)
    return no(`${name} is the only member of etcd of ${cluster}: delete the cluster instead`)
  // A living server leaves by itself, before the dead members of its name are removed.
  const leaving = voters.filter(isLeaving)
  const behind = leaving.some((m) => m.healthy) ? leaving.filter((m) => !m.healthy) : []
  const rest = [...staying, ...behind]
  const ill = rest.filter((m) => !m.healthy)
  const healthyStaying = rest.length - ill.length
  const first =
    removalOfTwins({ members }, ill) ?? `Bring ${listed(ill.map((m) => m.name))} back first`
  if (healthyStaying < majorityOf(rest.length))
    return forNow(
      `Without ${name}, etcd of ${cluster} has ${counted(rest.length, 'member')} and needs ${majorityOf(rest.length)} of them healthy, but only ${healthyStaying} ${healthyStaying === 1 ? 'is' : 'are'}. ${first}`,
    )
  const healthyNow = voters.filter((m) => m.healthy).length
  const down = ill.filter((m) => m.name !== name && !isHealthyIn({ members }, m.name))
  if (healthyNow < majorityOf(voters.length))
    return forNow(
      `etcd of ${cluster} has no majority, so no member can be removed: ${healthyNow} of ${voters.length} ${healthyNow === 1 ? 'is' : 'are'} healthy and ${majorityOf(voters.length)} are needed. Bring ${name}${down.length > 0 ? ` or ${listed(down.map((m) => m.name))}` : ''} back, or restore the cluster from a snapshot`,
    )
  return yes
}

/**
 * Whether these servers may be without power for a while: the healthy voters that remain are still a
 * majority of all voters, which stay members. A server whose member is not healthy gives the
 * majority nothing, so switching it takes nothing from it. Pure.
 */
export function canBeOff(
  { members }: EtcdMembers,
  names: ReadonlySet<string>,
  cluster: string,
): Verdict {
  const voters = members.filter((m) => !m.learner)
  const healthy = voters.filter((m) => m.healthy)
  const going = healthy.filter((m) => names.has(m.name))
  if (going.length === 0) return yes
  const staying = healthy.length - going.length
  const needed = majorityOf(voters.length)
  if (staying >= needed) return yes
  const ill = voters.filter((m) => !m.healthy && !names.has(m.name)).map((m) => m.name)
  const who = listed(going.map((m) => m.name))
  return staying === 0
    ? forNow(
        `${who} ${going.length === 1 ? 'is the last healthy member' : 'are the last healthy members'} of etcd of ${cluster}`,
      )
    : forNow(
        `Without ${who}, ${staying} of ${voters.length} members of etcd of ${cluster} would be healthy, and ${needed} are needed${ill.length > 0 ? `. Bring ${listed(ill)} back first` : ''}`,
      )
}

/**
 * Queries the control planes. Returns why etcd can't lose the server now, or null if it can. Null
 * for workers, which aren't members of etcd.
 */
export async function whyStay(
  parts: ControlPlaneParts,
  members: readonly Member[],
  m: Member,
  cluster: string,
  signal: AbortSignal,
): Promise<Refusal | null> {
  if (m.role !== 'control_plane') return null
  const etcd = await etcdMembers(parts, members, signal)
  if (!etcd)
    return forNow(
      `No control plane of ${cluster} reports the members of etcd, so none can be removed`,
    )
  const verdict = canLeaveEtcd(etcd, m.name, cluster)
  return verdict.ok ? null : verdict
}

/**
 * Returns why a control plane can't leave now, or null: control planes leave one at a time, and the
 * last one never leaves. A server that was removed by force (without an operation) doesn't count:
 * `whyStay` reads from etcd whether it is still a member.
 */
export function whyNotNow(members: readonly Member[], m: Member, cluster: string): string | null {
  if (m.role !== 'control_plane') return null
  const others = members.filter(
    (other) =>
      other.role === 'control_plane' && other.released_at === null && other.node_id !== m.node_id,
  )
  const leaving = others.find((other) => other.wanted === 'released' && other.operation_id !== null)
  if (leaving)
    return `${leaving.name} is leaving etcd of ${cluster}: control planes leave one after another`
  return others.length === 0
    ? `${m.name} is the only control plane of ${cluster}: delete the cluster instead`
    : null
}

/** The members of a lost server. A healthy one of its name was told by a server that stays. Pure. */
export const leavingMembers = ({ members }: EtcdMembers, name: string): EtcdMembers['members'] =>
  members.filter((e) => e.name === name && !e.healthy)

/**
 * Removes a lost server from etcd, with each member of its name. Safe to repeat. Returns null if the
 * server is no longer a member; with `onlyDead` a healthy member stays. Otherwise returns why the
 * server is still a member.
 */
export async function removeFromEtcd(
  parts: ControlPlaneParts,
  job: Job,
  state: ClusterState,
  m: Member,
  { onlyDead } = { onlyDead: false },
): Promise<string | null> {
  if (m.role !== 'control_plane') return null
  const etcd = await etcdMembers(parts, state.members, job.signal, onlyDead ? undefined : m.node_id)
  if (!etcd) return `No control plane of ${state.row.name} reports the members of etcd`
  let { members } = etcd
  for (const { id } of leavingMembers(etcd, m.name)) {
    const allowed = canLeaveEtcd({ members }, m.name, state.row.name, (e) => e.id === id)
    if (!allowed.ok) return allowed.reason
    try {
      await job.effect(`forget-member/${m.node_id}`, () =>
        removeEtcdMember(parts, state.members, m.node_id, id, job.signal),
      )
    } catch (error) {
      if (job.signal.aborted || !(error instanceof TalosError || error instanceof Problem))
        throw error
      return `${m.name} can't be removed from etcd: ${error.message}`
    }
    members = members.filter((e) => e.id !== id)
  }
  return null
}

/**
 * Removes a lost server from Kubernetes. Safe to repeat. Returns null if the server is no longer a
 * node, else the reason.
 */
export async function removeFromKubernetes(
  parts: ControlPlaneParts,
  job: Job,
  state: ClusterState,
  m: Member,
): Promise<string | null> {
  try {
    const client = await kubernetesOf(parts, state)
    await job.effect(`forget-node/${m.node_id}`, () => client.remove(nodePath(m.name), job.signal))
    return null
  } catch (error) {
    if (!(error instanceof KubernetesError)) throw error
    return `The Kubernetes API does not answer: ${error.message}`
  }
}
