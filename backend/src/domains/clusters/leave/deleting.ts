/** Deletes a cluster. The reconcilers carry it out. */
import { canDeleteCluster } from '#contract/clusters/clusters.ts'
import { Problem } from '#contract/errors.ts'
import { hasEnded, type Operation } from '#contract/operations.ts'
import { inTransaction } from '../../../db/db.ts'
import type { Caller } from '../../../http/caller.ts'
import { checkVersion, type Versions } from '../../../http/tags.ts'
import { clusterQueue, type ClusterParts, lockCluster, wakeMembers } from '../parts.ts'
import { deletionSteps } from '../plan.ts'
import * as store from '../store.ts'
import { waitingForMembers } from '../whole/decide-cluster.ts'

/**
 * Deletes a cluster: its servers are wiped and released. `force` contacts no server.
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
    checkVersion(ifMatch, row.version)
    const verdict = canDeleteCluster(row)
    if (!verdict.ok && !force) throw new Problem('operation_running', verdict.reason)
    const running = row.operation_id === null ? undefined : await operations.read(tx, row.operation_id)
    if (running && !hasEnded(running)) {
      // A cancel or deletion that waits for a dead server may be replaced by force. Other operations must be cancelled first.
      if (!force || !(running.status === 'cancelling' || running.kind === 'clusterDelete'))
        throw new Problem('operation_running', `${row.name} is still being made: cancel that first`)
      await operations.set(tx, running.id, {
        status: running.kind === 'clusterDelete' ? 'failed' : 'cancelled',
        reason: 'The cluster was deleted by force',
        forGood: true,
      })
    }
    const members = (await store.members(tx, id)).filter((m) => m.released_at === null)
    for (const m of members) {
      const leaving = m.operation_id === null ? undefined : await operations.state(tx, m.operation_id)
      if (!leaving || hasEnded(leaving)) continue
      if (!force) throw new Problem('operation_running', `${m.name} is being reset: cancel that first, or wait for its end`)
      await operations.set(tx, m.operation_id!, { status: 'failed', reason: 'The cluster was deleted by force', forGood: true })
    }
    const operation = await operations.create(tx, caller, {
      kind: 'clusterDelete',
      target: { id, name: row.name },
      steps: deletionSteps(members, force),
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
    // A forced deletion contacts no server, so all servers count as done until the cluster is deleted.
    await store.updateMembers(tx, id, {
      wanted: 'released',
      operation_id: null,
      failed_at: null,
      failure: null,
      at: force ? 'done' : 'reset',
      at_since: now,
    })
    if (!force) for (const m of members) await servers.hold(tx, m.node_id, operation.id)
    await parts.record(tx, caller, {
      action: force ? 'cluster.delete_forced' : 'cluster.delete_requested',
      target: { kind: 'cluster', id, name: row.name },
      after: { servers: members.map((m) => m.name) },
      event: { name: 'cluster.updated', version: after.version },
    })
    if (!force) await wakeMembers(parts.engine, tx, members)
    return { operation }
  })
