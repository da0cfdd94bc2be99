/** Adds workers and control planes to a running cluster. */
import { canHaveControlPlanes } from '#contract/clusters/clusters.ts'
import type { ChangeOf } from '#contract/clusters/changes/changes.ts'
import { counted } from '#contract/words.ts'
import { checkAlarms, isWanted } from '../../control-planes/api.ts'
import type { ChangeKind } from '../frame.ts'
import { joiningGroups, joiningPatienceMs, judgeJoining, reserve } from './candidates.ts'
import { endJoining, joining, joinWith } from './joining.ts'
import { checked, etcdCheck, kubernetesCheck, outlookOf, whyNoMember } from './outlook.ts'
import { sealedPatches } from './patched.ts'

const idsOf = ({ servers }: ChangeOf<'grow'>): string[] => servers.map((s) => s.node_id)

const step: ChangeKind<ChangeOf<'grow'>>['steps'][string] = (turn, one) =>
  joining(turn, one, { together: idsOf(turn.change), isTakenBack: true })

export const grow: ChangeKind<ChangeOf<'grow'>> = {
  patienceMs: joiningPatienceMs,
  touches: ['join'],
  sealed: sealedPatches((change) => change.servers),
  async plan(view, change) {
    const { row, members } = view.state
    const outlook = await outlookOf(view)
    const { checks, warnings, losses, images, chosen, disks } = await judgeJoining(
      view,
      change.servers,
      outlook,
    )
    const added = change.servers.filter((s) => s.role === 'control_plane').length
    const controlPlanes =
      members.filter((m) => m.role === 'control_plane' && isWanted(m)).length + added
    const count = canHaveControlPlanes(controlPlanes)
    const why = whyNoMember(outlook, row.name)
    return {
      checks: [
        ...checks,
        kubernetesCheck(outlook),
        ...(added === 0
          ? [checkAlarms(outlook.reports)]
          : [
              etcdCheck(outlook, row.name),
              checked(
                'control_planes',
                count.ok ? null : count.reason,
                counted(controlPlanes, 'control plane'),
              ),
            ]),
      ],
      warnings: added === 0 && why !== null ? [...warnings, why] : warnings,
      groups: joiningGroups(chosen),
      disks,
      images,
      losses,
    }
  },
  begin: (tx, begun) => reserve(tx, begun, begun.change.servers),
  steps: joinWith(step),
  end: (tx, turn, how) => endJoining(tx, turn, idsOf(turn.change), how),
}
