/**
 * Gives a cluster whose own key was kept a key of this Steelyard. The object that a user has seen
 * is noted; the reconciler replaces only this one.
 */
import type { Cluster } from '#contract/clusters/clusters.ts'
import { keptOf } from '#contract/clusters/existing.ts'
import type { clusterKeyReplace } from '#contract/clusters/takeover.ts'
import { Problem } from '#contract/errors.ts'
import type { Input } from '#contract/operation.ts'
import { no } from '#contract/rule.ts'
import { inTransaction } from '../../../db/db.ts'
import type { Caller } from '../../../http/caller.ts'
import { KubernetesError } from '../../../kubernetes/answers.ts'
import { makeChainKey } from '../create/chain-key.ts'
import { keyAddress, markOf } from '../existing.ts'
import { clusterKeyPath } from '../objects.ts'
import { kubernetesOf } from '../../control-planes/api.ts'
import { clusterQueue, type ClusterParts, demandCluster } from '../parts.ts'
import { shownOne } from '../shown.ts'
import * as store from '../store.ts'
import { invalid } from './proof-files.ts'
import { timeLimit } from '../../../time-limit.ts'

const deadlineMs = 30_000

/** @throws Problem */
export async function replaceKey(
  parts: ClusterParts,
  caller: Caller,
  clusterId: string,
  { address, confirm }: Input<typeof clusterKeyReplace>['body'],
): Promise<Cluster> {
  const { db, clock, secrets } = parts
  const row = await demandCluster(db, clusterId)
  const none = () => new Problem('not_eligible', `${row.name} has a key of this Steelyard already`)
  if (keptOf(row, 'cluster_key') === null) throw none()
  if (confirm !== row.name)
    throw invalid(
      'confirm',
      `Enter the name of the cluster, ${row.name}, to confirm that its cluster key is replaced`,
    )
  const members = await store.members(db, clusterId)
  const found = await (
    await kubernetesOf(parts, { row, members })
  )
    .get(clusterKeyPath, timeLimit(deadlineMs))
    .catch((error: unknown) => {
      if (error instanceof KubernetesError)
        throw new Problem(
          'server_unreachable',
          `The Kubernetes API of ${row.name} does not answer: ${error.message}`,
        )
      throw error
    })
  const there = found === null ? null : keyAddress(found)
  if (found !== null && there !== address)
    throw new Problem(
      'stale',
      `The key in the cluster is ${there ?? 'one without a readable address'} now: look at it again`,
    )
  const key = await makeChainKey()
  return inTransaction(db, async (tx) => {
    const now = await store.lock(tx, clusterId)
    if (!now || now.wanted !== 'ready')
      throw Problem.of('cluster_not_ready', no(`${row.name} is being deleted`))
    if (keptOf(now, 'cluster_key') === null) throw none()
    await secrets.sealChainKey(tx, clusterId, key.privateKey)
    key.privateKey.fill(0)
    const after = await store.update(tx, clusterId, {
      chain_address: key.address,
      kept: JSON.stringify(now.kept.filter((one) => one.object !== 'cluster_key')),
      replaces: JSON.stringify({
        ...now.replaces,
        ...(found !== null && { cluster_key: markOf(found) }),
      }),
      // The escrow file gets the new key before the cluster does.
      escrowed_at: null,
      key_applied_at: null,
      updated_at: new Date(clock.now()),
    })
    await parts.record(tx, caller, {
      action: 'cluster.key_replaced',
      target: { kind: 'cluster', id: clusterId, name: row.name },
      before: { address: there },
      after: { address: key.address, replaced: there },
      event: { name: 'cluster.updated', version: after.version },
    })
    await parts.engine.wake(tx, clusterQueue, clusterId)
    return shownOne(parts, tx, clusterId)
  })
}
