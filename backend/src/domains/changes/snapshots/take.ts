/**
 * A snapshot on request. The snapshots domain takes it (`domains/snapshots/taking.ts`); the change
 * starts it and follows its progress.
 */
import type { ChangeOf } from '#contract/clusters/changes/changes.ts'
import { changeTable } from '#contract/clusters/changes/table.ts'
import { Problem } from '#contract/errors.ts'
import { type ChangeKind } from '../frame.ts'
import { check, etcdReports, forNowIf, isPassing } from '../../control-planes/api.ts'
import { patienceMs } from './first.ts'
import { endSnapshot, takeOrFollow } from './follow.ts'

const titles = changeTable.clusterSnapshot.steps

export const takeSnapshot: ChangeKind<ChangeOf<'snapshot'>> = {
  patienceMs: { take: patienceMs },

  async plan(view, change) {
    const { parts, state } = view
    const reports = await etcdReports(view)
    const healthy = reports.filter((r) => r.problem === null || r.problem.includes('NOSPACE'))
    const why =
      reports.length === 0
        ? 'No control plane answers'
        : reports.map((r) => `${r.name}: ${r.problem}`).join('; ')
    const etcd = forNowIf(
      isPassing(reports),
      check(
        'etcd',
        healthy.length > 0,
        healthy.length > 0
          ? `${healthy.length} of ${reports.length} members of etcd can be read`
          : why,
      ),
    )
    const chosen = await parts.snapshots.storeFor(parts.db, state.row.id, change.store_id)
    if (!chosen.ok) return { checks: [check('store', false, chosen.reason), etcd], groups: [] }
    const { store } = chosen
    return {
      checks: [check('store', true, `The snapshot is written to ${store.name}`), etcd],
      groups: [{ node_id: null, name: null, steps: [{ key: 'take', title: titles.take(store) }] }],
    }
  },

  async begin(tx, { view: { parts, state }, caller, change, operationId }) {
    const chosen = await parts.snapshots.storeFor(tx, state.row.id, change.store_id)
    if (!chosen.ok) throw new Problem('transition_refused', chosen.reason)
    await parts.snapshots.begin(tx, caller, {
      id: operationId,
      cluster: { id: state.row.id, name: state.row.name },
      storeId: chosen.store.id,
    })
  },

  steps: {
    take: (turn, { step }) =>
      takeOrFollow(turn, step, {
        storeOf: () =>
          turn.parts.snapshots.storeFor(turn.parts.db, turn.state.row.id, turn.change.store_id),
      }),
  },
  end: endSnapshot,
}
