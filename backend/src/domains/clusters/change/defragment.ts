/** Defragments etcd, one member at a time with the leader last, and clears alarms about missing space (etcd, "Maintenance"). */
import type { ChangeOf } from '#contract/clusters/changes/changes.ts'
import { changeTable } from '#contract/clusters/changes/table.ts'
import { controlPlanesOf } from '../kubernetes.ts'
import { type ChangeKind, check, keyOf, memberOf, talos } from './frame.ts'
import { etcdHealthy, etcdReports, leaderLast } from './shared/etcd.ts'

const titles = changeTable.clusterDefragment.steps

export const defragment: ChangeKind<ChangeOf<'defragment'>> = {
  async plan(view) {
    const reports = await etcdReports(view)
    // A member without space has an alarm, for which it is defragmented. So only members that don't answer are a reason against it.
    const silent = reports.filter((r) => r.sizeBytes === null)
    const message = silent.length === 0 ? 'Every member of etcd answers' : silent.map((r) => `${r.name}: ${r.problem}`).join('; ')
    const order = leaderLast(controlPlanesOf(view.state.members), reports)
    return {
      checks: [check('etcd', reports.length > 0 && silent.length === 0, message)],
      warnings: ['Each member of etcd answers nothing while it is defragmented. The others go on.'],
      groups: [
        ...order.map((m) => ({
          node_id: m.node_id,
          name: m.name,
          reboots: 'no' as const,
          steps: [{ key: keyOf('defragment', m.node_id), title: titles.defragment(m) }],
        })),
        { node_id: null, name: null, steps: [{ key: 'disarm', title: titles.disarm() }] },
        { node_id: null, name: null, steps: [{ key: 'etcd-healthy', title: titles['etcd-healthy']() }] },
      ],
    }
  },
  steps: {
    async defragment(turn, { key, nodeId }) {
      const { node_id } = memberOf(turn, nodeId!)
      // Safe to repeat after a crash: a second defragmentation finds little to do.
      await turn.job.effect(key, () => talos(turn, node_id, (client) => client.etcdDefragment(), 170_000))
      return 'done'
    },
    async disarm(turn) {
      const any = controlPlanesOf(turn.state.members)[0]
      if (!any) return { waiting: 'No control plane answers' }
      await turn.job.effect('disarm', () => talos(turn, any.node_id, (client) => client.etcdDisarm()))
      return 'done'
    },
    'etcd-healthy': etcdHealthy,
  },
}
