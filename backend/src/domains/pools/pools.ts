/**
 * Changes of a cluster's subnets. Each is one transaction with rows, audit entry, events and an
 * operation, which the reconciler carries out.
 */
import { Problem } from '#contract/errors.ts'
import type { Answer, Input } from '#contract/operation.ts'
import { hasEnded, isScheduled, type Operation, operationTitle } from '#contract/operations.ts'
import {
  clusterSubnets,
  clusterSubnetsAssign,
  clusterSubnetsPreview,
  type PoolChange,
} from '#contract/network/subnets.ts'
import { no, yes } from '#contract/rule.ts'
import { type Db, inTransaction, type Tx, violatedConstraint } from '../../db/db.ts'
import { type Caller, system } from '../../http/caller.ts'
import { serve } from '../../http/serve.ts'
import { checkVersion, type Versions } from '../../http/tags.ts'
import type { Domain } from '../../platform.ts'
import type { ClusterFacts } from '../cluster-facts/api.ts'
import { poolQueue, type Pools } from './api.ts'
import {
  type Around,
  around,
  checkReady,
  noSubnet,
  refusal,
  takenBy,
  unknownCluster,
  writeAssignments,
} from './assign.ts'
import { preview, shownPools } from './preview.ts'
import { poolReconciler } from './reconcile.ts'
import { comingSteps, goingSteps, unfinishedIn } from './steps.ts'
import type { PoolParts } from './state.ts'
import * as store from './store.ts'

/**
 * Wakes the clusters of changed subnets when the transaction commits.
 * @throws Problem held_by_files if one of them is changed only by its files
 */
export async function wakePools(
  { engine, clusters }: Pick<PoolParts, 'engine' | 'clusters'>,
  tx: Tx,
  caller: Caller,
  subnetIds: readonly string[],
): Promise<void> {
  if (subnetIds.length === 0) return
  for (const clusterId of await store.reapply(tx, subnetIds)) {
    const cluster = await clusters.find(tx, clusterId)
    cluster?.demandUnheld(caller)
    await engine.wake(tx, poolQueue, clusterId)
  }
}

export function pools(parts: PoolParts): Pools & Domain {
  const { db, clock, record, engine, operations, clusters, subnets } = parts

  const openOperation = async (
    on: Db | Tx,
    pool: store.PoolRow | undefined,
  ): Promise<Operation | undefined> => {
    const operation = pool?.operation_id ? await operations.read(on, pool.operation_id) : undefined
    return operation && !hasEnded(operation) ? operation : undefined
  }

  /** @throws Problem operation_running if another operation runs on the cluster */
  const checkAlone = async (tx: Tx, cluster: ClusterFacts): Promise<void> => {
    const other = (await operations.open(tx, 'cluster', cluster.id)).find(
      (o) => o.kind !== 'clusterSubnetsAssign' && !isScheduled(o),
    )
    if (other)
      throw new Problem(
        'operation_running',
        `${operationTitle({ kind: other.kind, target: { kind: 'cluster', ...cluster } })} has not ended`,
      )
  }

  /** Writes the rows and begins their operation. */
  const begin = async (
    tx: Tx,
    caller: Caller,
    cluster: ClusterFacts,
    body: Input<typeof clusterSubnetsAssign>['body'],
    judgedBy: Around,
  ): Promise<Operation> => {
    const former = await openOperation(tx, await store.pool(tx, cluster.id))
    const changed = await writeAssignments(
      parts,
      tx,
      caller,
      cluster,
      body,
      unfinishedIn(former),
      judgedBy,
    )
    const { coming, going } = changed
    // An operation that is being cancelled isn't returned, because it is already reverting its
    // changes.
    if (former && former.status !== 'cancelling' && changed.touched.length === 0) return former
    if (former)
      await operations.set(tx, former.id, {
        status: 'cancelled',
        reason: 'Replaced by a later change of the subnets, which also includes this change',
      })
    const operation = await operations.create(tx, caller, {
      kind: 'clusterSubnetsAssign',
      target: cluster,
      steps: [...coming.flatMap(comingSteps), ...going.flatMap(goingSteps)],
      queue: poolQueue,
      audit: null,
    })
    if (operation.steps.length === 0) await operations.set(tx, operation.id, { status: 'done' })
    await store.updatePool(tx, cluster.id, { operation_id: operation.id, operation_round: 1 })
    const version =
      changed.touched.length > 0 ? await clusters.touch(tx, caller, cluster.id) : cluster.version
    await record(tx, caller, {
      action: 'cluster.subnets_assigned',
      target: { kind: 'cluster', id: cluster.id, name: cluster.name },
      before: { subnets: changed.before },
      after: { subnets: changed.after, version, ...(body.force && { force: true }) },
    })
    await subnets.tellChanged(tx, caller, changed.touched)
    return (await operations.read(tx, operation.id))!
  }

  engine.register(poolReconciler(parts))
  operations.guardRetry(poolQueue, {
    async may(tx, { id, key }) {
      const cluster = await clusters.lock(tx, key)
      if (!cluster) return no('The cluster is gone')
      return (await store.pool(tx, key))?.operation_id === id
        ? yes
        : no(
            `A later change of the subnets of ${cluster.name} has followed: assign what is still missing`,
          )
    },
  })

  const calls = {
    /** @throws Problem not_found */
    async list(clusterId: string): Promise<Answer<typeof clusterSubnets>> {
      const cluster = await clusters.find(db, clusterId)
      if (!cluster) throw unknownCluster()
      return shownPools(parts, cluster)
    },

    /**
     * Queries the cluster's state, or shows the last known state if the cluster doesn't answer.
     * @throws Problem not_found, subnet_assigned, conflict
     */
    preview: (
      clusterId: string,
      subnetIds: readonly string[],
      signal: AbortSignal,
    ): Promise<PoolChange> => preview(parts, clusterId, subnetIds, signal),

    /**
     * Assigns exactly these subnets to a cluster. A repeated call returns the running operation. A
     * call with other subnets ends that operation, and its unfinished part moves to the new one.
     * @throws Problem not_found, stale, cluster_not_ready, operation_running, subnet_assigned,
     * conflict
     */
    async assign(
      caller: Caller,
      clusterId: string,
      body: Input<typeof clusterSubnetsAssign>['body'],
      ifMatch?: Versions,
    ): Promise<{ operation: Operation }> {
      const judgedBy = await around(parts)
      try {
        return await inTransaction(db, async (tx) => {
          const cluster = await clusters.lock(tx, clusterId)
          if (!cluster) throw unknownCluster()
          cluster.demandUnheld(caller)
          checkVersion(ifMatch, cluster.version)
          checkReady(cluster)
          await checkAlone(tx, cluster)
          return { operation: await begin(tx, caller, cluster, body, judgedBy) }
        })
      } catch (error) {
        if (violatedConstraint(error) !== 'subnet_one_cluster') throw error
        throw (
          (await takenBy(db, await subnets.find(db, body.subnet_ids), clusterId, clock.now())) ??
          error
        )
      }
    },
  }

  return {
    name: 'pools',
    routes(app) {
      const on = serve(app)
      on(clusterSubnets, ({ params }) => calls.list(params.id))
      on(clusterSubnetsPreview, ({ params, body, signal }) =>
        calls.preview(params.id, body.subnet_ids, signal),
      )
      on(clusterSubnetsAssign, ({ caller, params, body, ifMatch }) =>
        calls.assign(caller, params.id, body, ifMatch),
      )
    },
    // Wakes clusters whose wake-ups were lost.
    start: () =>
      inTransaction(db, async (tx) => {
        for (const id of await store.clustersWithPools(tx)) await engine.wake(tx, poolQueue, id)
      }),
    async judge(on, cluster, ids) {
      const judgedBy = await around(parts)
      const known = new Map((await subnets.find(on, ids)).map((s) => [s.id, s]))
      return Promise.all(
        ids.map(async (id) => {
          const subnet = known.get(id)
          if (!subnet) return { refused: noSubnet }
          const problem = await refusal(parts, on, subnet, cluster, '', judgedBy)
          return problem ? { refused: problem.message } : { id, name: subnet.name }
        }),
      )
    },
    async reserve(tx, caller, clusterId, ids) {
      const cluster = (await clusters.find(tx, clusterId))!
      const body = { subnet_ids: [...ids], force: false }
      // Judged by the servers' addresses before the transaction (`judge`).
      const judgedBy = { now: clock.now(), addresses: [] }
      const changed = await writeAssignments(parts, tx, caller, cluster, body, new Set(), judgedBy)
      for (const { id } of changed.coming)
        await store.updateAssignment(tx, clusterId, id, {
          reason: 'The load balancer gets it once the cluster is ready',
        })
      await record(tx, caller, {
        action: 'cluster.subnets_assigned',
        target: { kind: 'cluster', id: clusterId, name: cluster.name },
        before: { subnets: [] },
        after: { subnets: changed.after },
      })
      await subnets.tellChanged(tx, caller, changed.touched)
    },
    async takenProblem(error, ids) {
      if (violatedConstraint(error) !== 'subnet_one_cluster') return error
      return (await takenBy(db, await subnets.find(db, ids), null, clock.now())) ?? error
    },
    async release(tx, clusterId) {
      const pool = await store.removePool(tx, clusterId)
      const freed = await store.releaseAll(tx, clusterId)
      const operation = await openOperation(tx, pool)
      if (operation)
        await operations.set(tx, operation.id, {
          status: 'cancelled',
          reason: 'The cluster was removed',
        })
      for (const { id, name } of await subnets.find(tx, freed))
        await record(tx, system, {
          action: 'subnet.unassigned',
          target: { kind: 'subnet', id, name },
          after: { cluster: null, why: 'The cluster was removed' },
        })
      await subnets.tellChanged(tx, system, freed)
    },
  }
}
