/**
 * Brings a cluster as a whole to its wanted state: secrets, one etcd bootstrap, control plane,
 * nodes, key; or deletion. Its servers are reconciled separately (`member/reconcile.ts`).
 * Level-triggered: safe to repeat at every point.
 */
import type { Reconciler } from '../../../engine/engine.ts'
import { system } from '../../../http/caller.ts'
import { KubernetesError } from '../../../kubernetes/answers.ts'
import { type ClusterParts, clusterQueue } from '../parts.ts'
import {
  applyAccess,
  applyKey,
  bootstrap,
  checkControlPlane,
  checkNodes,
  escrow,
  makeSecrets,
} from './bring-up.ts'
import type { WholeStep } from '../plan.ts'
import { listed } from '../../../sentences.ts'
import * as store from '../store.ts'
import {
  change,
  type ClusterTurn,
  end,
  followRequests,
  type Next,
  nowOf,
  Overtaken,
  show,
  wait,
  write,
} from './cluster-run.ts'
import { type ClusterAct, decideCluster, describe, isStuck } from './decide-cluster.ts'
import { removeGone, watch, watchMs } from './watch.ts'

/** Deletes the cluster. Servers that are not released yet are released without a reset. */
const forget = (turn: ClusterTurn): Promise<void> =>
  write(turn, async (tx) => {
    const { parts, state } = turn
    const left = (await store.members(tx, state.row.id)).filter((m) => m.released_at === null)
    for (const m of left) {
      await store.updateMember(tx, m.cluster_id, m.node_id, {
        at: 'done',
        released_at: nowOf(turn),
      })
      await parts.servers.release(tx, system, m.node_id, {
        why: `The cluster ${state.row.name} was forgotten; this server was not reset and may still have its configuration`,
      })
    }
    const operation =
      state.row.operation_id === null
        ? undefined
        : await parts.operations.read(tx, state.row.operation_id)
    const names = left.map((m) => m.name)
    await show(turn, tx, {
      forget: {
        status: 'done',
        reason: left.length > 0 ? `Forgotten without a reset: ${listed(names, 20)}` : null,
      },
    })
    await end(turn, tx, operation?.kind === 'clusterDelete' ? 'done' : 'cancelled')
    await parts.onRemoved(tx, state.row.id)
    const row = await store.update(tx, state.row.id, {
      deleted_at: nowOf(turn),
      updated_at: nowOf(turn),
    })
    await parts.record(tx, system, {
      action: 'cluster.removed',
      target: { kind: 'cluster', id: row.id, name: row.name },
      after: { forgotten: names },
      event: { name: 'cluster.removed', version: row.version },
    })
    parts.secrets.drop(row.id)
  })

const acts: Readonly<Record<ClusterAct, (turn: ClusterTurn) => Promise<Next>>> = {
  secrets: (turn) => makeSecrets(turn).then(() => 'again'),
  escrow: (turn) => escrow(turn).then(() => 'again'),
  'wait-control-plane': async () => undefined,
  bootstrap,
  'check-control-plane': checkControlPlane,
  async 'check-nodes'(turn) {
    await removeGone(turn)
    return checkNodes(turn)
  },
  key: (turn) => applyKey(turn).then(() => 'again'),
  access: (turn) => applyAccess(turn).then(() => ({ againMs: watchMs })),
  watch,
  'wait-release': async () => undefined,
  forget,
}

const goesOn = 'A deletion continues to its end: servers that were wiped cannot be brought back'
const stepOf: Partial<Record<ClusterAct, WholeStep>> = {
  'check-control-plane': 'control-plane',
  'check-nodes': 'nodes',
  key: 'key',
  access: 'access',
}

async function act(turn: ClusterTurn): Promise<Next> {
  const { parts, state } = turn
  const request = await followRequests(turn)
  if (request === 'again') return 'again'
  // A failed creation rests until a user retries it, replaces the server or cancels it.
  if (request === 'ended' && state.row.wanted === 'ready' && state.row.ready_at === null)
    return undefined
  const next = decideCluster(state)
  // A cluster that was taken over stays ready while it gets Steelyard's objects.
  const isReady = state.row.ready_at !== null && state.row.wanted === 'ready'
  if (next !== 'watch' && next !== 'forget' && !isReady) {
    const stuck = isStuck(state)
    await write(turn, async (tx) => {
      const described = describe(state)
      await change(turn, tx, described)
      if (stuck) await end(turn, tx, 'failed', described.reason)
      else if (state.row.operation_id !== null)
        await parts.operations.set(tx, state.row.operation_id, {
          status: 'running',
          reason: request === 'too-late' ? goesOn : described.reason,
        })
    })
    if (stuck) return undefined
  }
  try {
    return await acts[next](turn)
  } catch (error) {
    const step = stepOf[next]
    if (!(error instanceof KubernetesError) || step === undefined) throw error
    return isReady ? watch(turn) : wait(turn, step, error.message)
  }
}

export const clusterReconciler = (parts: ClusterParts): Reconciler => ({
  queue: clusterQueue,
  concurrency: 32,
  deadlineMs: 180_000,
  async reconcile(job) {
    for (let turns = 0; turns < 12; turns++) {
      const state = await store.load(parts.db, job.key)
      if (!state) return undefined
      try {
        const next = await act({ parts, job, state })
        if (next !== 'again') return next
      } catch (error) {
        if (!(error instanceof Overtaken)) throw error
      }
    }
    return { againMs: 0 }
  },
})
