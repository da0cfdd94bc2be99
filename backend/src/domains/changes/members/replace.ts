/** Replaces a server of a running cluster, dead or alive, with another one of the same role. */
import type { ChangeOf } from '#contract/clusters/changes/changes.ts'
import type { ClusterServer } from '#contract/clusters/clusters.ts'
import { checkAlarms, isHealthyIn } from '../../control-planes/api.ts'
import type { MemberRow } from '../../clusters/api.ts'
import { type ChangeKind, memberOf } from '../frame.ts'
import { joiningGroups, joiningPatienceMs, judgeJoining, reserve } from './candidates.ts'
import { departingGroup, departingSteps, endDeparting, silentGroup } from './departing.ts'
import { endJoining, joining, joinWith } from './joining.ts'
import { answers, endpointCheck, type Leaver, leaversOf } from './leavers.ts'
import { etcdCheck, kubernetesCheck, type Outlook, outlookOf, quorumCheck } from './outlook.ts'
import { sealedPatches } from './patched.ts'

const joinerOf = ({ by }: ChangeOf<'replace'>, { role }: MemberRow): ClusterServer => ({
  ...by,
  role,
})

/**
 * A dead server is removed first, because etcd's documentation recommends that. A healthy server
 * leaves after the new one has joined.
 */
const leavesFirst = (old: Leaver, { etcd }: Outlook): boolean =>
  !answers(old) || (old.m.role === 'control_plane' && !isHealthyIn(etcd, old.m.name))

const step: ChangeKind<ChangeOf<'replace'>>['steps'][string] = (turn, one) =>
  joining(turn, one, { together: [turn.change.by.node_id], isTakenBack: true })

export const replace: ChangeKind<ChangeOf<'replace'>> = {
  patienceMs: joiningPatienceMs,
  touches: ['join'],
  sealed: sealedPatches((change) => [change.by]),
  async plan(view, change) {
    const { row } = view.state
    const [outlook, { leavers, check: known }] = await Promise.all([
      outlookOf(view),
      leaversOf(view, [change.node_id]),
    ])
    const [old] = leavers
    if (!old) return { checks: [known], groups: [] }
    const isFirst = leavesFirst(old, outlook)
    const { checks, warnings, losses, images, chosen, disks } = await judgeJoining(
      view,
      [joinerOf(change, old.m)],
      {
        nodes: outlook.nodes,
        reports: outlook.reports.filter((r) => !isFirst || r.node_id !== old.m.node_id),
      },
    )
    const leaves = answers(old)
      ? departingGroup(old.m, change.keep_workload_disks)
      : silentGroup(old.m, change.keep_workload_disks)
    const joins = joiningGroups(chosen)
    const isMember = old.m.role === 'control_plane'
    return {
      checks: [
        known,
        ...checks,
        await endpointCheck(view, [old.m]),
        isMember
          ? etcdCheck(outlook, row.name, isFirst ? old.m.name : undefined)
          : checkAlarms(outlook.reports),
        ...(isMember && isFirst ? [quorumCheck(outlook, [old.m], row.name)] : []),
        kubernetesCheck(outlook),
      ],
      warnings,
      groups: isFirst ? [leaves, ...joins] : [...joins, leaves],
      disks,
      images,
      losses,
    }
  },
  begin: (tx, begun) =>
    reserve(tx, begun, [joinerOf(begun.change, memberOf(begun.view, begun.change.node_id))]),
  steps: {
    ...departingSteps(({ keep_workload_disks }) => ({
      keepsDisks: keep_workload_disks,
      staysReserved: false,
    })),
    ...joinWith(step),
  },
  async end(tx, turn, how) {
    await endJoining(tx, turn, [turn.change.by.node_id], how)
    await endDeparting(tx, turn)
  },
}
