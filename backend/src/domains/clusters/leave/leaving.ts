/**
 * Takes a single server out of its cluster (with a reset if it answers, by force if it doesn't),
 * and deletes clusters. Machines are queried before the transaction, and again by the reconciler
 * before a wipe.
 */
import { afterLeaving, type Cluster } from '#contract/clusters/clusters.ts'
import { canDeleteCluster } from '#contract/clusters/rules.ts'
import { Problem } from '#contract/errors.ts'
import { hasEnded, type Operation, operationTitle } from '#contract/operations.ts'
import { forNow, type Verdict } from '#contract/rule.ts'
import { canForceRemoveServer, canResetServer, onlyInCluster } from '#contract/servers/servers.ts'
import { type Db, inTransaction, type Tx } from '../../../db/db.ts'
import type { Caller } from '../../../http/caller.ts'
import { checkVersion, type Versions } from '../../../http/tags.ts'
import type { Also, ServerFacts } from '../../servers/api.ts'
import { demandUnheld } from '../held/held.ts'
import {
  changeQueue,
  clusterQueue,
  type ClusterParts,
  type CoreParts,
  lockCluster,
  memberKey,
  memberQueue,
  updateCluster,
  wakeMembers,
} from '../parts.ts'
import type { Seen } from '../member/acts.ts'
import { look, unseen } from '../member/look.ts'
import { deletionSteps, resetSteps } from '../plan.ts'
import { present } from '../present.ts'
import * as store from '../store.ts'
import { waitingForMembers } from '../whole/decide-cluster.ts'
import { whyNotNow, whyNotRequest, whyStay } from '../../control-planes/api.ts'
import { timeLimit } from '../../../time-limit.ts'

/**
 * Resets one server, as its call does. `also` runs in the transaction that begins the reset.
 * @throws Problem as `serverReset`
 */
export type ServerReset = (
  caller: Caller,
  nodeId: string,
  asked: {
    readonly keepWorkloadDisks: boolean
    readonly ifMatch?: Versions
    readonly signal?: AbortSignal | undefined
    readonly also?: Also
  },
) => Promise<{ operation: Operation }>

interface Asked {
  readonly ifMatch?: Versions
  readonly signal?: AbortSignal | undefined
}

/** Time limit for the server's answer, in ms. */
const lookMs = 10_000

function refuse(verdict: Verdict, facts: Pick<ServerFacts, 'operation_id'>): void {
  if (verdict.ok) return
  if (verdict.reason === onlyInCluster) throw Problem.of('server_not_in_cluster', verdict)
  throw Problem.of(
    facts.operation_id === null ? 'transition_refused' : 'operation_running',
    verdict,
  )
}

/** Converts a server to the type that the contract's rules expect. */
const shown = (facts: ServerFacts) => ({
  ...facts,
  nodeAddresses: [facts.address, ...facts.addresses.map((a) => a.split('/', 1)[0]!)],
  talos: { reachable: facts.reachable },
})

/** The cluster for the contract's rules, which don't depend on its offer. */
export async function clusterOf(on: Db | Tx, id: string): Promise<Cluster | undefined> {
  const row = await store.find(on, id)
  return row && present(row)
}

/** Like `clusterOf`, before any machine is asked. @throws Problem held_by_files */
async function unheldOf(on: Db, caller: Caller, id: string): Promise<Cluster | undefined> {
  const row = await store.find(on, id)
  if (row) demandUnheld(caller, row)
  return row && present(row)
}

/**
 * Reads the current state of a member from its machine, within a time limit that suits a request.
 */
export async function lookAt(
  { servers, secrets }: CoreParts,
  m: store.MemberRow,
  signal: AbortSignal,
): Promise<Seen> {
  const limit = AbortSignal.any([signal, timeLimit(lookMs)])
  try {
    return await look(
      await servers.connection(m.node_id),
      await secrets.talosAdmin(m.cluster_id),
      { expectSecured: true },
      limit,
    )
  } catch (error) {
    if (limit.aborted && !signal.aborted)
      return { kind: 'dark', reason: `did not answer within ${lookMs / 1000} s` }
    return unseen(error, signal)
  }
}

/**
 * `answers`: then the other control planes must be well, too. Nothing that runs changes when a server
 * that doesn't answer is removed.
 * @throws Problem if etcd can't lose the server now, or if another control plane is not well
 */
async function demandSpare(
  parts: CoreParts,
  m: store.MemberRow,
  signal: AbortSignal,
  { answers }: { readonly answers: boolean },
): Promise<void> {
  const state = (await store.load(parts.db, m.cluster_id))!
  const stay = await whyStay(parts, state.members, m, state.row.name, signal)
  if (stay !== null) throw Problem.of('transition_refused', stay)
  const others = answers ? await whyNotRequest({ parts, state, signal }, m) : null
  if (others !== null) throw Problem.of('transition_refused', forNow(others))
}

/**
 * Removes an answering server from its cluster. @throws Problem not_found; server_not_in_cluster;
 * operation_running; transition_refused; stale
 */
export async function resetServer(
  parts: CoreParts,
  caller: Caller,
  nodeId: string,
  {
    keepWorkloadDisks,
    ifMatch,
    signal = new AbortController().signal,
    also,
  }: Parameters<ServerReset>[2],
): Promise<{ operation: Operation }> {
  const { db, clock, servers, operations } = parts
  const [first] = await servers.forPlan(db, [nodeId])
  const place = await store.memberOf(db, nodeId)
  const cluster = place && (await unheldOf(db, caller, place.cluster_id))
  refuse(canResetServer(shown(first!), cluster), first!)
  if (!place || !cluster) throw new Problem('server_not_in_cluster', onlyInCluster)
  await demandSpare(parts, place, signal, { answers: true })

  return inTransaction(db, async (tx) => {
    const row = await store.lock(tx, place.cluster_id)
    if (row) demandUnheld(caller, row)
    const running =
      row?.operation_id == null ? undefined : await operations.read(tx, row.operation_id)
    if (running && !hasEnded(running))
      throw new Problem(
        'operation_running',
        `${operationTitle(running)} has not ended: cancel it first, or wait until it ends`,
      )
    const facts = await servers.factsForUpdate(tx, nodeId)
    checkVersion(ifMatch, facts.version)
    refuse(canResetServer(shown(facts), await clusterOf(tx, place.cluster_id)), facts)
    const members = await store.members(tx, place.cluster_id)
    const m = members.find((row) => row.node_id === nodeId && row.released_at === null)
    if (!m) throw new Problem('server_not_in_cluster', onlyInCluster)
    const busy = whyNotNow(members, m, cluster.name)
    if (busy !== null) throw new Problem('operation_running', busy)
    const staying = members.filter(
      (row) => row.role === 'control_plane' && row.released_at === null && row.node_id !== nodeId,
    )
    const operation = await operations.create(tx, caller, {
      kind: 'serverReset',
      target: { id: nodeId, name: m.name },
      arguments: { keep_workload_disks: keepWorkloadDisks },
      steps: resetSteps(
        { ...m, workload_disks: keepWorkloadDisks ? [] : m.workload_disks },
        afterLeaving(staying.length),
      ),
      queue: memberQueue,
      queueKey: memberKey(m.cluster_id, nodeId),
      audit: { after: { cluster: cluster.name, keep_workload_disks: keepWorkloadDisks } },
    })
    await store.updateMember(tx, m.cluster_id, nodeId, {
      wanted: 'released',
      at: 'reset',
      at_since: new Date(clock.now()),
      operation_id: operation.id,
      // What an earlier change was to keep. The operation says what this one keeps.
      keeps_disks: false,
      reset_intent_at: null,
      reset_sent_at: null,
      resets: 0,
      failed_at: null,
      failure: null,
    })
    await servers.hold(tx, nodeId, operation.id)
    await updateCluster(parts, tx, caller, m.cluster_id)
    await also?.(tx, operation)
    return { operation }
  })
}

/**
 * Removes a silent server from Steelyard and from its cluster. Null if the server is in no cluster.
 * @throws Problem `transition_refused` if the server answers or the cluster can't lose it; `stale`
 */
export async function forgetServer(
  parts: CoreParts,
  caller: Caller,
  nodeId: string,
  { ifMatch, signal = new AbortController().signal }: Asked,
): Promise<Operation | null> {
  const { db, clock, servers, operations } = parts
  const place = await store.memberOf(db, nodeId)
  const cluster = place && (await unheldOf(db, caller, place.cluster_id))
  if (!place || !cluster) return null
  const [first] = await servers.forPlan(db, [nodeId])
  refuse(canForceRemoveServer(shown(first!), cluster), { operation_id: null })
  // The last contacts failed. Query the server once more.
  const seen = await lookAt(parts, place, signal)
  if (seen.kind === 'secured' || seen.kind === 'maintenance')
    throw new Problem('transition_refused', `${place.name} answers: reset it instead`)
  await demandSpare(parts, place, signal, { answers: false })

  return inTransaction(db, async (tx) => {
    const row = await store.lock(tx, place.cluster_id)
    if (row) demandUnheld(caller, row)
    const facts = await servers.factsForUpdate(tx, nodeId)
    checkVersion(ifMatch, facts.version)
    const now = await clusterOf(tx, place.cluster_id)
    const m = await store.memberOf(tx, nodeId)
    if (!m || !now) return null
    refuse(canForceRemoveServer(shown(facts), now), { operation_id: null })
    for (const open of await operations.open(tx, 'server', nodeId))
      if (!hasEnded(open))
        await operations.set(tx, open.id, {
          status: 'failed',
          reason: 'The server was removed by force',
          forGood: true,
        })
    const at = new Date(clock.now())
    await store.updateMember(tx, m.cluster_id, nodeId, {
      wanted: 'released',
      at: 'done',
      at_since: at,
      released_at: at,
      failed_at: null,
      failure: null,
    })
    const operation = await operations.done(tx, caller, 'serverRemove', {
      id: nodeId,
      name: m.name,
    })
    await servers.removeByForce(tx, caller, nodeId)
    await parts.record(tx, caller, {
      action: 'cluster.server_forgotten',
      target: { kind: 'cluster', id: m.cluster_id, name: now.name },
      after: { node_id: nodeId, name: m.name },
    })
    await updateCluster(parts, tx, caller, m.cluster_id)
    // The cluster's reconciler removes the server from etcd and Kubernetes.
    await parts.engine.wake(tx, clusterQueue, m.cluster_id)
    return operation
  })
}

/**
 * Deletes a cluster: its servers are wiped and released. With `force` no server is contacted, so
 * none is wiped.
 * @throws Problem not_found; stale; operation_running
 */
export const deleteCluster = (
  parts: ClusterParts,
  caller: Caller,
  id: string,
  { force, ifMatch }: { readonly force: boolean; readonly ifMatch?: Versions },
): Promise<{ operation: Operation }> =>
  inTransaction(parts.db, async (tx) => {
    const { operations, servers } = parts
    const row = await lockCluster(tx, id)
    demandUnheld(caller, row)
    checkVersion(ifMatch, row.version)
    const verdict = canDeleteCluster(row)
    if (!verdict.ok && !force) throw Problem.of('operation_running', verdict)
    const running =
      row.operation_id === null ? undefined : await operations.read(tx, row.operation_id)
    if (running && !hasEnded(running)) {
      // A forced deletion may replace a cancel or a deletion that waits for a dead server. Other
      // operations must be cancelled first.
      if (!force || !(running.status === 'cancelling' || running.kind === 'clusterDelete'))
        throw new Problem(
          'operation_running',
          row.ready_at === null
            ? `${row.name} is still being created: cancel the creation first`
            : `${operationTitle(running)} has not ended: cancel it first, or wait until it ends`,
        )
      await operations.set(tx, running.id, {
        status: running.kind === 'clusterDelete' ? 'failed' : 'cancelled',
        reason: 'The cluster was deleted by force',
        forGood: true,
      })
    }
    const present = (await store.members(tx, id)).filter((m) => m.released_at === null)
    // A server that has been removed before, and has not answered since, keeps what it was to keep.
    const members = present.map((m) => ({
      ...m,
      keeps_disks: m.keeps_disks && m.wanted === 'released',
    }))
    for (const m of members) {
      const leaving =
        m.operation_id === null ? undefined : await operations.state(tx, m.operation_id)
      if (!leaving || hasEnded(leaving)) continue
      if (!force)
        throw new Problem(
          'operation_running',
          `${m.name} is being reset: cancel the reset first, or wait until it ends`,
        )
      await operations.set(tx, m.operation_id!, {
        status: 'failed',
        reason: 'The cluster was deleted by force',
        forGood: true,
      })
    }
    const operation = await operations.create(tx, caller, {
      kind: 'clusterDelete',
      target: { id, name: row.name },
      steps: deletionSteps(
        members.map((m) => (m.keeps_disks ? { ...m, workload_disks: [] } : m)),
        force,
      ),
      queue: clusterQueue,
      audit: null,
    })
    const now = new Date(parts.clock.now())
    const after = await store.update(tx, id, {
      wanted: 'removed',
      forced: force,
      status: 'deleting',
      reason: force ? null : waitingForMembers(members),
      operation_id: operation.id,
      operation_round: 1,
      updated_at: now,
    })
    // A forced deletion contacts no server, so it has nothing to do for the servers: their step is
    // `done` at once.
    await store.updateMembers(tx, id, {
      wanted: 'released',
      operation_id: null,
      failed_at: null,
      failure: null,
      at: force ? 'done' : 'reset',
      at_since: now,
    })
    for (const { node_id, keeps_disks } of members) {
      await store.updateMember(tx, id, node_id, { keeps_disks })
      if (!force) await servers.hold(tx, node_id, operation.id)
    }
    await parts.record(tx, caller, {
      action: force ? 'cluster.delete_forced' : 'cluster.delete_requested',
      target: { kind: 'cluster', id, name: row.name },
      after: { servers: members.map((m) => m.name) },
      event: { name: 'cluster.updated', version: after.version },
    })
    if (!force) await wakeMembers(parts.engine, tx, members)
    // Scheduled changes end.
    await parts.engine.wake(tx, changeQueue, id)
    return { operation }
  })
