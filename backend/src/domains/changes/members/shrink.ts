/**
 * Removes servers from a running cluster: dead ones first, then workers, then control planes, one
 * after another.
 */
import type { ChangeOf } from '#contract/clusters/changes/changes.ts'
import { check, checkAlarms, isHealthyIn, isWanted } from '../../control-planes/api.ts'
import { type ChangeKind } from '../frame.ts'
import { departingGroup, departingSteps, endDeparting, silentGroup } from './departing.ts'
import {
  answerCheck,
  answers,
  controlPlaneCheck,
  endpointCheck,
  type Leaver,
  leaversOf,
} from './leavers.ts'
import { kubernetesCheck, type Outlook, outlookOf } from './outlook.ts'

const wishOf = ({ servers }: ChangeOf<'shrink'>, nodeId: string) =>
  servers.find((s) => s.node_id === nodeId)

/**
 * Dead members are removed first, as etcd's documentation recommends. Control planes leave last,
 * those with an etcd that is not healthy before the others.
 */
const rankOf = (l: Leaver, { etcd }: Outlook): number => {
  if (!answers(l)) return 0
  if (l.m.role === 'worker') return 1
  return isHealthyIn(etcd, l.m.name) ? 3 : 2
}

export const shrink: ChangeKind<ChangeOf<'shrink'>> = {
  async plan(view, change) {
    const { state } = view
    const [outlook, { leavers, check: known }] = await Promise.all([
      outlookOf(view),
      leaversOf(
        view,
        change.servers.map((s) => s.node_id),
      ),
    ])
    const inOrder = leavers.toSorted(
      (a, b) => rankOf(a, outlook) - rankOf(b, outlook) || b.m.position - a.m.position,
    )
    const rows = inOrder.map((l) => l.m)
    const { checks, warnings } = controlPlaneCheck(state, rows, outlook)
    // Only servers that answer are drained. The others are removed without writes of etcd's keys,
    // which a full etcd refuses.
    const isPossibleWhenFull =
      !leavers.some(answers) &&
      outlook.reports.some((r) => r.alarm === 'NOSPACE') &&
      !outlook.reports.some((r) => r.alarm === 'CORRUPT')
    const alarms = isPossibleWhenFull
      ? check(
          'alarms',
          true,
          'etcd is full (alarm NOSPACE), but a removal by force works without space',
        )
      : checkAlarms(outlook.reports)
    const isForced = (nodeId: string) => wishOf(change, nodeId)?.force === true
    const workers = state.members.filter((m) => m.role === 'worker' && isWanted(m))
    const isLast =
      workers.length > 0 && workers.every((m) => rows.some((r) => r.node_id === m.node_id))
    return {
      checks: [
        known,
        answerCheck(leavers, isForced),
        await endpointCheck(view, rows),
        ...checks,
        alarms,
        kubernetesCheck(outlook),
      ],
      warnings: [
        ...warnings,
        ...(isLast
          ? ['No worker remains: pods that can not run on control planes stay pending']
          : []),
        ...(isPossibleWhenFull
          ? ['etcd is full (alarm NOSPACE): defragment it as soon as these servers are removed']
          : []),
      ],
      groups: inOrder.map((l) => {
        const keeps = wishOf(change, l.m.node_id)?.keep_workload_disks === true
        return answers(l) ? departingGroup(l.m, keeps) : silentGroup(l.m, keeps)
      }),
    }
  },
  steps: departingSteps((change, nodeId) => ({
    keepsDisks: wishOf(change, nodeId)?.keep_workload_disks === true,
    staysReserved: false,
  })),
  end: (tx, turn) => endDeparting(tx, turn),
}
