/** A single server that leaves its cluster has its own operation, which can be cancelled and retried. */
import { afterLeaving } from '#contract/clusters/clusters.ts'
import { hasEnded } from '#contract/operations.ts'
import type { Db, Tx } from '../../../db/db.ts'
import type { Job } from '../../../engine/engine.ts'
import { system } from '../../../http/caller.ts'
import { canLeaveEtcd } from './decide-leaving.ts'
import type { State } from '../facts.ts'
import { holdMember } from '../whole/overtaken.ts'
import { type ClusterParts, clusterQueue } from '../parts.ts'
import { afterWipe } from '../plan.ts'
import type { Reach } from '../reach.ts'
import * as store from '../store.ts'

/** `rest`: nothing to do until a user asks for it. */
export type Obeyed = 'go-on' | 'changed' | 'rest'

export function leavingAlone(parts: ClusterParts, reached: Reach) {
  const { db, engine, servers, operations, record, tell } = parts

  const tellCluster = async (tx: Tx, id: string): Promise<void> => {
    const row = await store.update(tx, id, { updated_at: new Date(parts.clock.now()) })
    await tell(tx, system, { name: 'cluster.updated', object: { kind: 'cluster', id }, version: row.version })
    await engine.wake(tx, clusterQueue, id)
  }

  /** Cancels the leaving: nothing was wiped, so the server stays in its cluster. */
  const giveBack = async (tx: Tx, job: Job, m: store.MemberRow, change: { operation_id?: null } = {}): Promise<void> => {
    await store.updateMember(tx, m.cluster_id, m.node_id, {
      ...change,
      wanted: 'joined',
      at: 'join',
      at_since: new Date(job.now()),
      failed_at: null,
      failure: null,
    })
    await servers.hold(tx, m.node_id, null)
    await tellCluster(tx, m.cluster_id)
  }

  const cancel = (job: Job, m: store.MemberRow, operationId: string): Promise<void> =>
    job.fence.write(async (tx) => {
      if (!(await holdMember(tx, m))) return
      await giveBack(tx, job, m, { operation_id: null })
      for (const step of (await operations.read(tx, operationId))!.steps)
        if (step.status !== 'done') await operations.step(tx, operationId, step.key, { status: 'skipped', reason: 'Cancelled' })
      await operations.set(tx, operationId, { status: 'cancelled', reason: 'Nothing was wiped' })
    })

  /** Starts a retry and checks the preconditions again. */
  const beginAgain = (job: Job, m: store.MemberRow, operationId: string): Promise<void> =>
    job.fence.write(async (tx) => {
      if (!(await holdMember(tx, m))) return undefined
      const row = (await store.row(tx, m.cluster_id))!
      const refusal = whyNotNow(await store.members(tx, m.cluster_id), m, row.name)
      if (refusal !== null) return operations.set(tx, operationId, { status: 'failed', reason: refusal })
      const place = m.wiped_at === null ? (m.reset_sent_at === null ? 'reset' : 'release') : afterWipe(m.role)
      const now = new Date(job.now())
      await store.updateMember(tx, m.cluster_id, m.node_id, { wanted: 'released', at: place, at_since: now, failed_at: null, failure: null, resets: 0 })
      await servers.hold(tx, m.node_id, operationId)
      await tellCluster(tx, m.cluster_id)
    })

  /** Whether the workload disks are kept. A server that leaves with its cluster has no own operation and keeps none. */
  const keepsDisks = async (on: Db | Tx, m: store.MemberRow): Promise<boolean> =>
    m.operation_id !== null && (await operations.argumentsOf(on, m.operation_id, 'serverReset')).keep_workload_disks

  return {
    keepsDisks,
    async obey(job: Job, m: store.MemberRow): Promise<Obeyed> {
      const id = m.operation_id
      const operation = id === null ? undefined : await operations.state(db, id)
      if (id === null || !operation) return 'go-on'
      if (hasEnded(operation)) return m.wanted === 'released' ? 'rest' : 'go-on'
      if (operation.cancel_requested_at !== null) {
        if (m.wanted === 'joined' || (m.reset_intent_at === null && m.wiped_at === null)) {
          await cancel(job, m, id)
          return 'changed'
        }
        const reason = `${m.name} was told to wipe itself, which can't be taken back: it goes on to the end`
        await job.fence.write((tx) => operations.set(tx, id, { status: 'waiting', reason }))
      }
      if (m.wanted === 'released' && m.failed_at === null) return 'go-on'
      await beginAgain(job, m, id)
      return 'changed'
    },

    /** Checked right before the reset: why etcd can't lose the server now, or null. */
    async refusal(job: Job, state: State, m: store.MemberRow): Promise<string | null> {
      if (m.role !== 'control_plane') return null
      const etcd = await reached.etcd(state.members, job.signal)
      if (!etcd) return `No control plane of ${state.row.name} tells who the members of etcd are`
      const verdict = canLeaveEtcd(etcd, m.name, state.row.name)
      return verdict.ok ? null : verdict.reason
    },

    /** Runs in the transaction that writes the failure. */
    async failed(tx: Tx, job: Job, m: store.MemberRow, reason: string, isUntouched: boolean): Promise<void> {
      if (isUntouched) await giveBack(tx, job, m)
      else await servers.hold(tx, m.node_id, null)
      await operations.set(tx, m.operation_id!, { status: 'failed', reason })
    },

    /** Runs in the transaction that releases the server. */
    async done(tx: Tx, state: State, m: store.MemberRow): Promise<void> {
      const stay = state.members.filter((other) => other.role === 'control_plane' && other.wanted === 'joined' && other.released_at === null).length
      await operations.set(tx, m.operation_id!, { status: 'done', reason: m.role === 'control_plane' ? afterLeaving(stay) : null })
      await record(tx, system, {
        action: 'server.reset',
        target: { kind: 'server', id: m.node_id, name: m.name },
        after: { cluster: state.row.name, kept_disks: (await keepsDisks(tx, m)) ? m.workload_disks : [] },
      })
    },
  }
}

/** Control planes leave one at a time, and the last one never does. */
export function whyNotNow(members: readonly store.MemberRow[], m: store.MemberRow, cluster: string): string | null {
  if (m.role !== 'control_plane') return null
  const others = members.filter((other) => other.role === 'control_plane' && other.released_at === null && other.node_id !== m.node_id)
  const leaving = others.find((other) => other.wanted === 'released')
  if (leaving) return `${leaving.name} is leaving etcd of ${cluster}: control planes leave one after another`
  return others.length === 0 ? `${m.name} is the only control plane of ${cluster}: delete the cluster instead` : null
}
