/**
 * The state that is checked before a change of a cluster's servers: etcd, Kubernetes, and the
 * servers themselves.
 */
import type { PlanCheck } from '#contract/clusters/changes/changes.ts'
import type { Remedy } from '#contract/clusters/changes/remedies.ts'
import { KubernetesError, type KubernetesNode } from '../../../kubernetes/answers.ts'
import {
  canLeaveEtcd,
  check,
  type EtcdMembers,
  etcdMembers,
  etcdRemedies,
  etcdReports,
  forNowIf,
  isPassing,
  kubernetesOf,
  type MemberReport,
  remedy,
  removalOfTwins,
} from '../../control-planes/api.ts'
import { listed } from '../../../sentences.ts'
import type { MemberRow } from '../../clusters/api.ts'
import { type ChangeView } from '../frame.ts'

export interface Outlook {
  /** null: no control plane reports the members. */
  readonly etcd: EtcdMembers | null
  /** What each control plane reports about its member, with alarms. */
  readonly reports: readonly MemberReport[]
  /** Nodes by name, or why Kubernetes doesn't answer. */
  readonly nodes: ReadonlyMap<string, KubernetesNode> | string
}

/** A check of the plan that fails with the reason `problem`. */
export const checked = (
  name: string,
  problem: string | null,
  good: string,
  remedies?: readonly Remedy[],
): PlanCheck => check(name, problem === null, problem ?? good, remedies)

const nodesOf = async ({ parts, state, signal }: ChangeView): Promise<Outlook['nodes']> => {
  try {
    const nodes = await (await kubernetesOf(parts, state)).nodes(signal)
    return new Map(nodes.map((n) => [n.name, n]))
  } catch (error) {
    if (!(error instanceof KubernetesError)) throw error
    return error.message
  }
}

export async function outlookOf(view: ChangeView): Promise<Outlook> {
  const [etcd, reports, nodes] = await Promise.all([
    etcdMembers(view.parts, view.state.members, view.signal),
    etcdReports(view),
    nodesOf(view),
  ])
  return { etcd, reports, nodes }
}

/** Members are read from the leader. */
const withoutLeader =
  'bring control planes back until etcd has a leader, or restore the cluster from a snapshot'

/**
 * The changes that settle the state of etcd. While an API server answers, a restore would lose
 * data.
 */
const remediesOf = ({ etcd, reports, nodes }: Outlook): Remedy[] =>
  etcd === null && typeof nodes === 'string' ? [remedy('restore')] : etcdRemedies(reports)

/**
 * Why no member can be added to etcd now, or null. etcd's documentation recommends to remove a dead
 * member before a new one is added ("Runtime reconfiguration").
 */
export function whyNoMember(
  { etcd, reports }: Pick<Outlook, 'etcd' | 'reports'>,
  cluster: string,
  except?: string,
): string | null {
  if (etcd === null)
    return `No control plane of ${cluster} reports the members of etcd: ${withoutLeader}`
  const others = etcd.members.filter((m) => m.name !== except)
  const learner = others.find((m) => m.learner)
  if (learner)
    return `${learner.name} is still a learner of etcd of ${cluster}, and etcd takes one new member at a time`
  const full = reports.find((r) => r.alarm === 'NOSPACE')
  if (full) return `etcd on ${full.name}: ${full.problem}`
  const twins = removalOfTwins(etcd, others)
  if (twins !== null) return `A server of ${cluster} has two members of etcd. ${twins}`
  const ill = others.filter((m) => !m.healthy).map((m) => m.name)
  const them = ill.length === 1 ? 'it' : 'them'
  if (ill.length > 0)
    return `${listed(ill)} ${ill.length === 1 ? 'is' : 'are'} not healthy in etcd of ${cluster}: bring ${them} back, replace or remove ${them} first`
  // After a restore a silent control plane may be no member any more.
  const alarmed = reports.find((r) => r.problem !== null && others.some((m) => m.name === r.name))
  return alarmed ? `etcd on ${alarmed.name}: ${alarmed.problem}` : null
}

export const etcdCheck = (outlook: Outlook, cluster: string, except?: string): PlanCheck =>
  forNowIf(
    isPassing(outlook.reports),
    checked(
      'etcd',
      whyNoMember(outlook, cluster, except),
      'Every other member of etcd is healthy, and etcd has no alarm',
      remediesOf(outlook),
    ),
  )

export const kubernetesCheck = ({ nodes }: Outlook): PlanCheck =>
  forNowIf(
    true,
    checked(
      'kubernetes',
      typeof nodes === 'string' ? `The Kubernetes API does not answer: ${nodes}` : null,
      'The Kubernetes API answers',
    ),
  )

/** Whether etcd can lose these control planes one after another, in this order. */
export function quorumCheck(
  outlook: Outlook,
  leavers: readonly Pick<MemberRow, 'name'>[],
  cluster: string,
): PlanCheck {
  const { etcd } = outlook
  const good = `etcd keeps its majority without ${listed(leavers.map((m) => m.name))}`
  if (etcd === null)
    return forNowIf(
      true,
      checked(
        'quorum',
        `No control plane of ${cluster} reports the members of etcd, so none can be removed: ${withoutLeader}`,
        good,
        remediesOf(outlook),
      ),
    )
  let members = etcd.members
  for (const { name } of leavers) {
    const verdict = canLeaveEtcd({ members }, name, cluster)
    if (!verdict.ok)
      return forNowIf(
        verdict.kind === 'for_now',
        checked('quorum', verdict.reason, good, remediesOf(outlook)),
      )
    members = members.filter((m) => m.name !== name)
  }
  return checked('quorum', null, good)
}
