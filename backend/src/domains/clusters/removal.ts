/**
 * etcd and Kubernetes of a cluster that loses a server: which servers are members, which may leave,
 * and the removal of lost servers.
 */
import { Problem } from '#contract/errors.ts'
import { no, type Verdict, yes } from '#contract/rule.ts'
import { counted } from '#contract/words.ts'
import type { EtcdMember, TalosClient } from '#talos/client/client.ts'
import { TalosError } from '#talos/client/errors.ts'
import type { Job } from '../../engine/engine.ts'
import { KubernetesError } from '../../kubernetes/answers.ts'
import type { CoreParts } from './parts.ts'
import { controlPlanesOf, kubernetesOf, nodePath } from './kubernetes.ts'
import { listed } from './sentences.ts'
import type { MemberRow, State } from './store.ts'

/**
 * Limits in ms for each call and for all calls to one control plane. A slower control plane counts
 * as silent.
 */
const etcdDeadlineMs = 5_000
const etcdWholeMs = 8_000

export interface EtcdMembers {
  /** Learners have no vote and don't count towards a majority. */
  readonly members: readonly {
    readonly id: string
    readonly name: string
    readonly learner: boolean
  }[]
  /** Names of members with a healthy etcd. */
  readonly healthy: ReadonlySet<string>
}

const isSecured = (m: MemberRow): boolean =>
  m.role === 'control_plane' && m.secured_at !== null && m.released_at === null

/** `10.0.0.3` from `https://10.0.0.3:2380`; '' if the text is no URL. */
export const hostOf = (url: string): string =>
  URL.canParse(url) ? new URL(url).hostname.replace(/^\[(.*)\]$/, '$1') : ''

async function secure<T>(
  { servers, secrets }: CoreParts,
  m: MemberRow,
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
  { servers }: CoreParts,
  members: readonly MemberRow[],
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

/** What a control plane reports about etcd; nothing if it doesn't answer. */
async function askEtcd(parts: CoreParts, m: MemberRow, signal: AbortSignal) {
  try {
    return await secure(
      parts,
      m,
      async (client) => {
        const etcd = (await client.services()).find((s) => s.id === 'etcd')
        const healthy = etcd?.state === 'Running' && etcd.healthy === true
        return { healthy, members: healthy ? await client.etcdMembers().catch(() => []) : [] }
      },
      AbortSignal.any([signal, AbortSignal.timeout(etcdWholeMs)]),
    )
  } catch (error) {
    if (signal.aborted) throw error
    return { healthy: false, members: [] }
  }
}

/**
 * Members of etcd and which of them are healthy; null if no control plane reports them. `except` is
 * not queried. A member that was added but never started has no name in etcd: here it gets the name
 * of the server at its address.
 */
export async function etcdMembers(
  parts: CoreParts,
  members: readonly MemberRow[],
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
    members: list.map((e) => ({ id: e.id, name: nameOf(e), learner: e.learner })),
    healthy: new Set(answers.filter((a) => a.healthy).map((a) => a.name)),
  }
}

/**
 * Removes a member from etcd through another control plane. Safe to repeat. @throws TalosError,
 * Problem
 */
async function removeEtcdMember(
  parts: CoreParts,
  members: readonly MemberRow[],
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
 * removal is a vote, and of the remaining members, or the cluster loses its quorum.
 */
export function canLeaveEtcd(
  { members, healthy }: EtcdMembers,
  name: string,
  cluster: string,
): Verdict {
  const voters = members.filter((m) => !m.learner)
  if (!voters.some((m) => m.name === name)) return yes
  const staying = voters.filter((m) => m.name !== name)
  if (staying.length === 0)
    return no(`${name} is the only member of etcd of ${cluster}: delete the cluster instead`)
  const ill = staying.filter((m) => !healthy.has(m.name))
  const healthyStaying = staying.length - ill.length
  const first = `Bring ${listed(ill.map((m) => m.name))} back first`
  if (healthyStaying < majorityOf(staying.length))
    return no(
      `Without ${name}, etcd of ${cluster} has ${counted(staying.length, 'member')} and needs ${majorityOf(staying.length)} of them healthy, but only ${healthyStaying} ${healthyStaying === 1 ? 'is' : 'are'}. ${first}`,
    )
  const healthyNow = healthyStaying + (healthy.has(name) ? 1 : 0)
  if (healthyNow < majorityOf(voters.length))
    return no(
      `etcd of ${cluster} has no majority, so no member can be removed: ${healthyNow} of ${voters.length} ${healthyNow === 1 ? 'is' : 'are'} healthy and ${majorityOf(voters.length)} are needed. Bring ${name}${ill.length > 0 ? ` or ${listed(ill.map((m) => m.name))}` : ''} back, or restore the cluster from a snapshot`,
    )
  return yes
}

/**
 * Queries the control planes. Returns why etcd can't lose the server now, or null if it can. Null
 * for workers, which aren't members of etcd.
 */
export async function whyStay(
  parts: CoreParts,
  members: readonly MemberRow[],
  m: MemberRow,
  cluster: string,
  signal: AbortSignal,
): Promise<string | null> {
  if (m.role !== 'control_plane') return null
  const etcd = await etcdMembers(parts, members, signal)
  if (!etcd)
    return `No control plane of ${cluster} reports the members of etcd, so none can be removed`
  const verdict = canLeaveEtcd(etcd, m.name, cluster)
  return verdict.ok ? null : verdict.reason
}

/**
 * Returns why a control plane can't leave now, or null: control planes leave one at a time, and the
 * last one never leaves. A server that was removed by force (without an operation) doesn't count:
 * `whyStay` reads from etcd whether it is still a member.
 */
export function whyNotNow(
  members: readonly MemberRow[],
  m: MemberRow,
  cluster: string,
): string | null {
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

/**
 * Removes a lost server from etcd. Safe to repeat. Returns null if the server is no longer a
 * member, or if `onlyDead` is set and its etcd is healthy. Otherwise returns why the server is
 * still a member.
 */
export async function removeFromEtcd(
  parts: CoreParts,
  job: Job,
  state: State,
  m: MemberRow,
  { onlyDead } = { onlyDead: false },
): Promise<string | null> {
  if (m.role !== 'control_plane') return null
  const etcd = await etcdMembers(parts, state.members, job.signal, onlyDead ? undefined : m.node_id)
  if (!etcd) return `No control plane of ${state.row.name} reports the members of etcd`
  const member = etcd.members.find((e) => e.name === m.name)
  if (!member || (onlyDead && etcd.healthy.has(m.name))) return null
  const allowed = canLeaveEtcd(etcd, m.name, state.row.name)
  if (!allowed.ok) return allowed.reason
  try {
    await job.effect(`forget-member/${m.node_id}`, () =>
      removeEtcdMember(parts, state.members, m.node_id, member.id, job.signal),
    )
    return null
  } catch (error) {
    if (job.signal.aborted || !(error instanceof TalosError || error instanceof Problem))
      throw error
    return `${m.name} can't be removed from etcd: ${error.message}`
  }
}

/**
 * Removes a lost server from Kubernetes. Safe to repeat. Returns null if the server is no longer a
 * node, else the reason.
 */
export async function removeFromKubernetes(
  parts: CoreParts,
  job: Job,
  state: State,
  m: MemberRow,
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
