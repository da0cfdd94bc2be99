/**
 * Brings a cluster as a whole to its wanted state: secrets, one etcd bootstrap, control plane, nodes, key; or deletion. The servers
 * have their own wake-ups (`member/reconcile.ts`). Level-triggered, safe to repeat at every point.
 */
import type { Job, Reconciler } from '../../../engine/engine.ts'
import { system } from '../../../http/caller.ts'
import { bringUp } from '../create/bring-up.ts'
import { clusterRun, type Turn } from './cluster-run.ts'
import { type ClusterAct, decideCluster, describe, isStuck } from './decide-cluster.ts'
import { etcdOnce } from '../create/etcd-once.ts'
import { clusterFacts, load, type State } from '../facts.ts'
import { KubernetesError } from '../../../kubernetes/client.ts'
import { Overtaken } from './overtaken.ts'
import { clusterQueue, type ClusterParts } from '../parts.ts'
import type { WholeStep } from '../plan.ts'
import type { Reach } from '../reach.ts'
import type { ClusterSecrets } from '../secrets.ts'
import { listed } from '../sentences.ts'
import * as store from '../store.ts'
import { watching, watchMs } from './watch.ts'
import { goesOn, wishes } from './wishes.ts'

export function clusterReconciler(parts: ClusterParts, secrets: ClusterSecrets, reached: Reach): Reconciler {
  const { db, servers, operations, record } = parts
  const run = clusterRun(parts, secrets, reached)
  const { at, write, show, wait, change, end } = run
  const { makeSecrets, escrow, checkControlPlane, checkNodes, applyKey, applyAccess } = bringUp(run)
  const { watch, forgetGone } = watching(run)
  const bootstrap = etcdOnce(run)
  const obey = wishes(run)

  const forget = (job: Job, state: State): Promise<void> =>
    write(job, state, async (tx) => {
      const left = (await store.members(tx, state.row.id)).filter((m) => m.released_at === null)
      for (const m of left) {
        await store.updateMember(tx, m.cluster_id, m.node_id, { at: 'done', released_at: at(job) })
        await servers.release(tx, system, m.node_id, {
          why: `The cluster ${state.row.name} was forgotten; this server was not reset and may still hold its configuration`,
        })
      }
      const operation = state.row.operation_id === null ? undefined : await operations.read(tx, state.row.operation_id)
      await show(tx, state, {
        forget: {
          status: 'done',
          reason:
            left.length > 0
              ? `Forgotten without a reset: ${listed(
                  left.map((m) => m.name),
                  20,
                )}`
              : null,
        },
      })
      await end(tx, state, operation?.kind === 'clusterDelete' ? 'done' : 'cancelled')
      await parts.onRemoved(tx, state.row.id)
      const row = await store.update(tx, state.row.id, { deleted_at: at(job), updated_at: at(job) })
      await record(tx, system, {
        action: 'cluster.removed',
        target: { kind: 'cluster', id: row.id, name: row.name },
        after: { forgotten: left.map((m) => m.name) },
        event: { name: 'cluster.removed', version: row.version },
      })
      secrets.drop(row.id)
    })

  const perform = async (job: Job, state: State, act: ClusterAct): Promise<Turn> => {
    switch (act) {
      case 'secrets':
        await makeSecrets(job, state)
        return 'again'
      case 'escrow':
        await escrow(job, state)
        return 'again'
      case 'bootstrap':
        return bootstrap(job, state)
      case 'check-control-plane':
        return checkControlPlane(job, state)
      case 'check-nodes':
        await forgetGone(job, state)
        return checkNodes(job, state)
      case 'key':
        await applyKey(job, state)
        return 'again'
      case 'access':
        await applyAccess(job, state)
        return { againMs: watchMs }
      case 'watch':
        return watch(job, state)
      case 'forget':
        await forget(job, state)
        return undefined
      default:
        return undefined
    }
  }

  const againIfOvertaken = (error: unknown): 'again' => {
    if (error instanceof Overtaken) return 'again'
    throw error
  }

  const stepOf: Partial<Record<ClusterAct, WholeStep>> = { 'check-control-plane': 'control-plane', 'check-nodes': 'nodes', key: 'key', access: 'access' }

  const turn = async (job: Job): Promise<Turn> => {
    const state = await load(db, job.key)
    if (!state) return undefined
    const wish = await obey(job, state)
    if (wish === 'changed') return 'again'
    // A failed creation rests until a user retries it, replaces the server or cancels it.
    if (wish === 'ended' && state.row.wanted === 'ready' && state.row.ready_at === null) return undefined
    const facts = clusterFacts(state)
    const act = decideCluster(facts)
    // A cluster that was taken over stays ready while it gets Steelyard's objects.
    const isReady = facts.wasReady && facts.wanted === 'ready'
    if (act !== 'watch' && act !== 'forget' && !isReady) {
      const stuck = isStuck(facts)
      await write(job, state, async (tx) => {
        const described = describe(facts)
        await change(tx, state, described)
        if (stuck) await end(tx, state, 'failed', described.reason)
        else if (state.row.operation_id !== null)
          await operations.set(tx, state.row.operation_id, { status: 'running', reason: wish === 'too-late' ? goesOn : described.reason })
      })
      if (stuck) return undefined
    }
    try {
      return await perform(job, state, act)
    } catch (error) {
      const step = stepOf[act]
      if (!(error instanceof KubernetesError) || step === undefined) throw error
      if (isReady) return watch(job, state)
      return wait(job, state, step, error.message)
    }
  }

  return {
    queue: clusterQueue,
    concurrency: 32,
    deadlineMs: 180_000,
    async reconcile(job) {
      for (let turns = 0; turns < 12; turns++) {
        const outcome = await turn(job).catch(againIfOvertaken)
        if (outcome !== 'again') return outcome
      }
      return { againMs: 0 }
    },
  }
}
