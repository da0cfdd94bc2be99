/**
 * A snapshot on request. The snapshots domain takes it (`domains/snapshots/taking.ts`); the change
 * starts it and follows its progress.
 */
import type { ChangeOf } from '#contract/clusters/changes/changes.ts'
import { changeTable } from '#contract/clusters/changes/table.ts'
import { Problem } from '#contract/errors.ts'
import { type ChangeKind, check, write } from '../frame.ts'
import { etcdReports } from '../shared/etcd.ts'

const titles = changeTable.clusterSnapshot.steps
const followMs = 500

export const takeSnapshot: ChangeKind<ChangeOf<'snapshot'>> = {
  // Longer than the limit of one attempt.
  patienceMs: { take: 8 * 3_600_000 },

  async plan(view, change) {
    const { parts, state } = view
    const reports = await etcdReports(view)
    const healthy = reports.filter((r) => r.problem === null || r.problem.includes('NOSPACE'))
    const why =
      reports.length === 0
        ? 'No control plane answers'
        : reports.map((r) => `${r.name}: ${r.problem}`).join('; ')
    const etcd = check(
      'etcd',
      healthy.length > 0,
      healthy.length > 0
        ? `${healthy.length} of ${reports.length} members of etcd can be read`
        : why,
    )
    try {
      const store = await parts.snapshots.storeFor(parts.db, state.row.id, change.store_id)
      return {
        checks: [check('store', true, `The snapshot is written to ${store.name}`), etcd],
        groups: [
          { node_id: null, name: null, steps: [{ key: 'take', title: titles.take(store) }] },
        ],
      }
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      return { checks: [check('store', false, error.message), etcd], groups: [] }
    }
  },

  async begin(tx, { view: { parts, state }, caller, change, operationId }) {
    const { id: storeId } = await parts.snapshots.storeFor(tx, state.row.id, change.store_id)
    await parts.snapshots.begin(tx, caller, {
      id: operationId,
      cluster: { id: state.row.id, name: state.row.name },
      storeId,
    })
  },

  steps: {
    async take(turn, { step }) {
      const { parts, operation } = turn
      const row = await parts.snapshots.find(parts.db, operation.id)
      if (!row || row.status === 'removing')
        return { failed: 'The snapshot was removed before it was ready' }
      if (row.status === 'ready') return 'done'
      if (row.status === 'taking')
        return {
          waiting: row.reason ?? 'The snapshot is being taken',
          againMs: followMs,
          isSafe: true,
        }
      // An earlier failure is the one that a user has just retried.
      if (step.started_at !== null && row.updated_at.getTime() >= Date.parse(step.started_at))
        return { failed: row.reason ?? 'The snapshot failed' }
      await write(turn, (tx) => parts.snapshots.again(tx, operation.id))
      return { waiting: 'The snapshot is tried again', againMs: followMs, isSafe: true }
    },
  },

  async end(tx, { parts, operation }, how) {
    if (how === 'cancelled') await parts.snapshots.cancel(tx, operation.id)
  },
}
