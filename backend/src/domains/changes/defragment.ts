/**
 * Defragments etcd, one member at a time with the leader last, and clears alarms about missing
 * space (etcd, "Maintenance"). Nothing restarts, so each member waits for the other members only,
 * not for the other components (`shared/gate.ts`): a full etcd makes those fail.
 */
import type { ChangeOf } from '#contract/clusters/changes/changes.ts'
import { changeTable } from '#contract/clusters/changes/table.ts'
import {
  check,
  controlPlanesOf,
  etcdRemedies,
  etcdReports,
  forNowIf,
  hasMajority,
  leaderLast,
  type MemberReport,
  settleFull,
} from '../control-planes/api.ts'
import { joined, listed } from '../../sentences.ts'
import { type ChangeKind, keyOf, memberOf, talos, viewOf } from './frame.ts'
import { etcdHealthy } from './shared/etcd-healthy.ts'

const titles = changeTable.clusterDefragment.steps

/**
 * The members that don't answer or have no leader, or ''. An alarm about missing space is a reason
 * to defragment, so it is left out.
 */
const unavailableOf = (reports: readonly MemberReport[]): string =>
  joined(reports.filter((r) => !r.knowsAlarms).map((r) => `${r.name}: ${r.problem}`))

/** Why etcd can't be defragmented, with what to do, or ''. */
function refusalOf(reports: readonly MemberReport[]): string {
  const unavailable = unavailableOf(reports)
  const down = reports.filter((r) => r.sizeBytes === null)
  // Members that answer without a leader elect one as soon as a majority is back.
  if (down.length === 0) return unavailable
  const instead = hasMajority(reports)
    ? `replace ${down.length === 1 ? 'it' : 'them'}`
    : 'restore the cluster from a snapshot'
  const todo = reports.some((r) => r.alarm === 'NOSPACE')
    ? settleFull(down).todo
    : `bring ${namesOf(down)} back, or ${instead}`
  return `${unavailable}. ${todo.charAt(0).toUpperCase()}${todo.slice(1)}`
}

/**
 * A disarm clears every alarm (Talos `v1alpha1_server.go`, EtcdAlarmDisarm), and etcd would then
 * continue with different data in its members.
 */
const corruptOf = (reports: readonly MemberReport[]): string =>
  joined(reports.filter((r) => r.alarm === 'CORRUPT').map((r) => `${r.name}: ${r.problem}`))

const namesOf = (reports: readonly MemberReport[]): string => listed(reports.map((r) => r.name))

/**
 * What is left to do about a database that its objects fill (Talos, "etcd Maintenance"). A patch
 * restarts control planes, which needs an etcd without alarms.
 */
const stillFull = (full: readonly MemberReport[]): string =>
  `The database of etcd on ${namesOf(full)} is still full, so its space is used and not fragmented. Delete objects and defragment again. As soon as etcd accepts writes, a patch of the control planes gives it more space (cluster.etcd.extraArgs, quota-backend-bytes)`

export const defragment: ChangeKind<ChangeOf<'defragment'>> = {
  async plan(view) {
    const reports = await etcdReports(view)
    const [refusal, corrupt] = [refusalOf(reports), corruptOf(reports)]
    const order = leaderLast(controlPlanesOf(view.state.members), reports)
    return {
      checks: [
        forNowIf(
          true,
          check(
            'etcd',
            reports.length > 0 && refusal === '',
            refusal || 'Every member of etcd answers',
            etcdRemedies(reports),
          ),
        ),
        ...(corrupt === '' ? [] : [check('data', false, corrupt, etcdRemedies(reports))]),
      ],
      warnings: [
        'A member of etcd does not answer while it is defragmented. The others keep running.',
      ],
      groups: [
        ...order.map((m) => ({
          node_id: m.node_id,
          name: m.name,
          reboots: 'no' as const,
          steps: [{ key: keyOf('defragment', m.node_id), title: titles.defragment(m) }],
        })),
        { node_id: null, name: null, steps: [{ key: 'disarm', title: titles.disarm() }] },
        {
          node_id: null,
          name: null,
          steps: [{ key: 'etcd-healthy', title: titles['etcd-healthy']() }],
        },
      ],
    }
  },
  steps: {
    async defragment(turn, { key, nodeId }) {
      const { node_id } = memberOf(turn, nodeId!)
      // A member does not answer while it is defragmented, so the others must answer to keep the
      // quorum.
      const unavailable = unavailableOf(await etcdReports(viewOf(turn)))
      if (unavailable !== '') return { waiting: unavailable, isSafe: true }
      // Safe to repeat after a crash: a second defragmentation has little to do.
      await turn.job.effect(key, () =>
        talos(turn, node_id, (client) => client.etcdDefragment(), 170_000),
      )
      return 'done'
    },
    async disarm(turn) {
      const reports = await etcdReports(viewOf(turn))
      const corrupt = corruptOf(reports)
      if (corrupt !== '') return { failed: corrupt }
      const any = reports.find((r) => r.sizeBytes !== null)
      if (!any) return { waiting: unavailableOf(reports) || 'No control plane answers' }
      await turn.job.effect('disarm', () =>
        talos(turn, any.node_id, (client) => client.etcdDisarm()),
      )
      return 'done'
    },
    async 'etcd-healthy'(turn) {
      // A member whose database is still too large raises its alarm again.
      const full = (await etcdReports(viewOf(turn))).filter((r) => r.alarm === 'NOSPACE')
      return full.length > 0 ? { failed: stillFull(full) } : etcdHealthy(turn)
    },
  },
}
