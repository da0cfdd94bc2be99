/**
 * Takes a single server out of its cluster: with a reset if it answers, by force if it doesn't. Machines are
 * queried before the transaction, and again by the reconciler before a wipe.
 */
import { afterLeaving } from '#contract/clusters/clusters.ts'
import { Problem } from '#contract/errors.ts'
import type { Operation } from '#contract/operations.ts'
import { hasEnded } from '#contract/operations.ts'
import type { Verdict } from '#contract/rule.ts'
import { canForceRemoveServer, canResetServer, onlyInCluster } from '#contract/servers/servers.ts'
import { type Db, inTransaction, type Tx } from '../../../db/db.ts'
import type { Caller } from '../../../http/caller.ts'
import { checkVersion, type Versions } from '../../../http/tags.ts'
import type { ServerFacts } from '../../servers/present.ts'
import type { Seen } from '../member/decide-server.ts'
import { canLeaveEtcd } from './decide-leaving.ts'
import { whyNotNow } from './leaving-alone.ts'
import { look, unseen } from '../member/look.ts'
import type { CoreParts } from '../core.ts'
import { clusterQueue, memberKey, memberQueue } from '../parts.ts'
import { resetSteps } from '../plan.ts'
import { present } from '../present.ts'
import type { Reach } from '../reach.ts'
import type { ClusterSecrets } from '../secrets.ts'
import * as store from '../store.ts'

/** Limit for an answer of the server, in ms. */
const lookMs = 10_000

export interface Leaving {
  /** @throws Problem not_found; server_not_in_cluster; operation_running; transition_refused; stale */
  resetServer(
    caller: Caller,
    nodeId: string,
    options: { keepWorkloadDisks: boolean; ifMatch?: Versions; signal?: AbortSignal | undefined },
  ): Promise<{ operation: Operation }>
  /** See `ClusterAccess.forgetServer`. */
  forgetServer(caller: Caller, nodeId: string, options: { ifMatch?: Versions; signal?: AbortSignal | undefined }): Promise<Operation | null>
}

export function leaving({ db, clock, servers, operations, record, tell, engine }: CoreParts, secrets: ClusterSecrets, reached: Reach): Leaving {
  const refuse = (verdict: Verdict, facts: ServerFacts): void => {
    if (verdict.ok) return
    if (verdict.reason === onlyInCluster) throw new Problem('server_not_in_cluster', verdict.reason)
    throw new Problem(facts.operation_id === null ? 'transition_refused' : 'operation_running', verdict.reason)
  }
  const shown = (facts: ServerFacts) => ({
    ...facts,
    nodeAddresses: [facts.address, ...facts.addresses.map((a) => a.split('/', 1)[0]!)],
    talos: { reachable: facts.reachable },
  })
  const around = async (on: Db | Tx, clusterId: string) => {
    const row = await store.find(on, clusterId)
    return row && present(row, clock.now())
  }

  const lookAt = async (m: store.MemberRow, signal: AbortSignal): Promise<Seen> => {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(lookMs)])
    try {
      return await look(await servers.connection(m.node_id), await secrets.talosAdmin(m.cluster_id), { expectSecured: true }, limit)
    } catch (error) {
      if (limit.aborted && !signal.aborted) return { kind: 'dark', reason: `did not answer within ${lookMs / 1000} s` }
      return unseen(error, signal)
    }
  }

  /** Whether etcd can lose the server, according to the control planes now. */
  const askEtcd = async (m: store.MemberRow, cluster: string, signal: AbortSignal): Promise<void> => {
    if (m.role !== 'control_plane') return
    const etcd = await reached.etcd(await store.members(db, m.cluster_id), signal)
    if (!etcd) throw new Problem('transition_refused', `No control plane of ${cluster} tells who the members of etcd are, so none may leave`)
    const verdict = canLeaveEtcd(etcd, m.name, cluster)
    if (!verdict.ok) throw new Problem('transition_refused', verdict.reason)
  }

  const tellCluster = async (tx: Tx, caller: Caller, id: string): Promise<void> => {
    const row = await store.update(tx, id, { updated_at: new Date(clock.now()) })
    await tell(tx, caller, { name: 'cluster.updated', object: { kind: 'cluster', id }, version: row.version })
  }

  return {
    async resetServer(caller, nodeId, { keepWorkloadDisks, ifMatch, signal = new AbortController().signal }) {
      const [first] = await servers.forPlan(db, [nodeId])
      const place = await store.memberOf(db, nodeId)
      const cluster = place && (await around(db, place.cluster_id))
      refuse(canResetServer(shown(first!), cluster), first!)
      if (!place || !cluster) throw new Problem('server_not_in_cluster', onlyInCluster)
      await askEtcd(place, cluster.name, signal)

      return inTransaction(db, async (tx) => {
        await store.lock(tx, place.cluster_id)
        const facts = await servers.factsForUpdate(tx, nodeId)
        checkVersion(ifMatch, facts.version)
        refuse(canResetServer(shown(facts), await around(tx, place.cluster_id)), facts)
        const members = await store.members(tx, place.cluster_id)
        const m = members.find((row) => row.node_id === nodeId && row.released_at === null)
        if (!m) throw new Problem('server_not_in_cluster', onlyInCluster)
        const busy = whyNotNow(members, m, cluster.name)
        if (busy !== null) throw new Problem('operation_running', busy)
        const staying = members.filter((row) => row.role === 'control_plane' && row.released_at === null && row.node_id !== nodeId)
        const operation = await operations.create(tx, caller, {
          kind: 'serverReset',
          target: { id: nodeId, name: m.name },
          arguments: { keep_workload_disks: keepWorkloadDisks },
          steps: resetSteps({ ...m, workload_disks: keepWorkloadDisks ? [] : m.workload_disks }, afterLeaving(staying.length)),
          queue: memberQueue,
          queueKey: memberKey(m.cluster_id, nodeId),
          audit: { after: { cluster: cluster.name, keep_workload_disks: keepWorkloadDisks } },
        })
        await store.updateMember(tx, m.cluster_id, nodeId, {
          wanted: 'released',
          at: 'reset',
          at_since: new Date(clock.now()),
          operation_id: operation.id,
          reset_intent_at: null,
          reset_sent_at: null,
          resets: 0,
          failed_at: null,
          failure: null,
        })
        await servers.hold(tx, nodeId, operation.id)
        await tellCluster(tx, caller, m.cluster_id)
        return { operation }
      })
    },

    async forgetServer(caller, nodeId, { ifMatch, signal = new AbortController().signal }) {
      const place = await store.memberOf(db, nodeId)
      const cluster = place && (await around(db, place.cluster_id))
      if (!place || !cluster) return null
      const [first] = await servers.forPlan(db, [nodeId])
      refuse(canForceRemoveServer(shown(first!), cluster), { ...first!, operation_id: null })
      // The last contacts failed. Ask once more.
      const seen = await lookAt(place, signal)
      if (seen.kind === 'secured' || seen.kind === 'maintenance') throw new Problem('transition_refused', `${place.name} answers: reset it instead`)
      await askEtcd(place, cluster.name, signal)

      return inTransaction(db, async (tx) => {
        await store.lock(tx, place.cluster_id)
        const facts = await servers.factsForUpdate(tx, nodeId)
        checkVersion(ifMatch, facts.version)
        const now = await around(tx, place.cluster_id)
        const m = await store.memberOf(tx, nodeId)
        if (!m || !now) return null
        refuse(canForceRemoveServer(shown(facts), now), { ...facts, operation_id: null })
        for (const open of await operations.open(tx, 'server', nodeId))
          if (!hasEnded(open)) await operations.set(tx, open.id, { status: 'failed', reason: 'The server was removed by force', forGood: true })
        await store.updateMember(tx, m.cluster_id, nodeId, {
          wanted: 'released',
          at: 'done',
          at_since: new Date(clock.now()),
          released_at: new Date(clock.now()),
          failed_at: null,
          failure: null,
        })
        const operation = await operations.done(tx, caller, 'serverRemove', { id: nodeId, name: m.name })
        await servers.removeByForce(tx, caller, nodeId)
        await record(tx, caller, {
          action: 'cluster.server_forgotten',
          target: { kind: 'cluster', id: m.cluster_id, name: now.name },
          after: { node_id: nodeId, name: m.name },
        })
        await tellCluster(tx, caller, m.cluster_id)
        // The cluster's reconciler removes the server from etcd and Kubernetes.
        await engine.wake(tx, clusterQueue, m.cluster_id)
        return operation
      })
    },
  }
}
