/**
 * SQL for pools: assignments, uses, and load balancers of clusters. Apart from a restore
 * (`backup/settle.ts`), nothing else writes these tables.
 */
import { type Insertable, type Selectable, sql, type Updateable } from 'kysely'
import type { Db, Tx } from '../../db/db.ts'
import type { Tables } from '../../db/tables.gen.ts'
import type { Use } from './look.ts'

type On = Db | Tx
export type AssignmentRow = Selectable<Tables['subnet_assignment']>
export type PoolRow = Selectable<Tables['cluster_pool']>
export type AssignmentChange = Updateable<
  Pick<
    Tables['subnet_assignment'],
    'state' | 'reason' | 'forced' | 'sent_at' | 'applied' | 'observed_at' | 'used'
  >
>

/** Assignments ordered by subnet id, the order in which all callers lock them. */
export const assignments = (on: On, clusterId: string): Promise<AssignmentRow[]> =>
  on
    .selectFrom('subnet_assignment')
    .selectAll()
    .where('cluster_id', '=', clusterId)
    .orderBy('subnet_id')
    .execute()

export const lockAssignments = (tx: Tx, clusterId: string): Promise<AssignmentRow[]> =>
  tx
    .selectFrom('subnet_assignment')
    .selectAll()
    .where('cluster_id', '=', clusterId)
    .orderBy('subnet_id')
    .forUpdate()
    .execute()

export const lockAssignment = (
  tx: Tx,
  clusterId: string,
  subnetId: string,
): Promise<AssignmentRow | undefined> =>
  tx
    .selectFrom('subnet_assignment')
    .selectAll()
    .where('cluster_id', '=', clusterId)
    .where('subnet_id', '=', subnetId)
    .forUpdate()
    .executeTakeFirst()

/** The clusters of a subnet, and who assigned it. */
export const holders = (on: On, subnetId: string) =>
  on
    .selectFrom('subnet_assignment as a')
    .innerJoin('cluster as c', 'c.id', 'a.cluster_id')
    .select(['a.cluster_id', 'c.name', 'a.assigned_by', 'a.assigned_at'])
    .where('a.subnet_id', '=', subnetId)
    .orderBy('a.assigned_at', 'desc')
    .execute()

export const insertAssignments = (
  tx: Tx,
  rows: readonly Insertable<Tables['subnet_assignment']>[],
) =>
  tx
    .insertInto('subnet_assignment')
    .values([...rows])
    .execute()

export const updateAssignment = (
  tx: Tx,
  clusterId: string,
  subnetId: string,
  change: AssignmentChange,
) =>
  tx
    .updateTable('subnet_assignment')
    .set(change)
    .where('cluster_id', '=', clusterId)
    .where('subnet_id', '=', subnetId)
    .execute()

export const removeAssignments = (tx: Tx, clusterId: string, subnetIds: readonly string[]) =>
  tx
    .deleteFrom('subnet_assignment')
    .where('cluster_id', '=', clusterId)
    .where('subnet_id', 'in', [...subnetIds])
    .execute()

/**
 * Marks assignments of changed subnets. Writes every row, so that a concurrent reconciliation
 * notices the change. Returns the clusters.
 */
export const reapply = async (tx: Tx, subnetIds: readonly string[]): Promise<string[]> => {
  const rows = await tx
    .updateTable('subnet_assignment')
    .set({
      state: sql`case when state = 'draining' then state else 'applying' end`,
      reason: sql`case when state = 'draining' then reason end`,
    })
    .where('subnet_id', 'in', [...subnetIds])
    .where('purpose', '=', 'workload')
    .returning('cluster_id')
    .execute()
  return [...new Set(rows.map((r) => r.cluster_id))].toSorted()
}

/** Removes all assignments of the cluster and returns their subnets. */
export const releaseAll = async (tx: Tx, clusterId: string): Promise<string[]> =>
  (
    await tx
      .deleteFrom('subnet_assignment')
      .where('cluster_id', '=', clusterId)
      .returning('subnet_id')
      .execute()
  ).map((r) => r.subnet_id)

export const pool = (on: On, clusterId: string): Promise<PoolRow | undefined> =>
  on.selectFrom('cluster_pool').selectAll().where('cluster_id', '=', clusterId).executeTakeFirst()

/**
 * Locks the row that every change of a cluster's pools locks first; creates the row if it is
 * missing.
 */
export async function lockPool(tx: Tx, clusterId: string): Promise<PoolRow> {
  await tx
    .insertInto('cluster_pool')
    .values({ cluster_id: clusterId })
    .onConflict((c) => c.doNothing())
    .execute()
  return tx
    .selectFrom('cluster_pool')
    .selectAll()
    .where('cluster_id', '=', clusterId)
    .forUpdate()
    .executeTakeFirstOrThrow()
}

export const updatePool = (
  tx: Tx,
  clusterId: string,
  change: Updateable<Omit<Tables['cluster_pool'], 'cluster_id'>>,
) => tx.updateTable('cluster_pool').set(change).where('cluster_id', '=', clusterId).execute()

export const removePool = (tx: Tx, clusterId: string) =>
  tx
    .deleteFrom('cluster_pool')
    .where('cluster_id', '=', clusterId)
    .returningAll()
    .executeTakeFirst()

/** Addresses that were last seen in use, in canonical text. */
export const uses = (on: On, clusterId: string) =>
  on
    .selectFrom('subnet_use')
    .select(['subnet_id', sql<string>`host(address)`.as('address'), 'used_by'])
    .where('cluster_id', '=', clusterId)
    .orderBy('subnet_id')
    .orderBy('address')
    .execute()

/** Writes changed uses. */
export async function putUses(
  tx: Tx,
  clusterId: string,
  subnetId: string,
  now: readonly Use[],
): Promise<void> {
  const rows = await tx
    .selectFrom('subnet_use')
    .select([sql<string>`host(address)`.as('address'), 'used_by'])
    .where('cluster_id', '=', clusterId)
    .where('subnet_id', '=', subnetId)
    .execute()
  const before = new Map(rows.map((r) => [r.address, r.used_by]))
  const kept = new Set(now.filter((u) => before.get(u.address) === u.by).map((u) => u.address))
  const gone = rows.filter((r) => !kept.has(r.address)).map((r) => r.address)
  const fresh = now.filter((u) => !kept.has(u.address))
  if (gone.length > 0)
    await tx
      .deleteFrom('subnet_use')
      .where('cluster_id', '=', clusterId)
      .where('subnet_id', '=', subnetId)
      .where(sql<boolean>`host(address) = any(${gone}::text[])`)
      .execute()
  // A statement has at most 65,535 parameters.
  for (let from = 0; from < fresh.length; from += 5_000)
    await tx
      .insertInto('subnet_use')
      .values(
        fresh.slice(from, from + 5_000).map((u) => ({
          subnet_id: subnetId,
          cluster_id: clusterId,
          address: u.address,
          used_by: u.by,
        })),
      )
      .execute()
}

/** Clusters that the reconciler is responsible for, to find missing wake-ups at start. */
export const clustersWithPools = async (on: On): Promise<string[]> =>
  (
    await on
      .selectFrom('subnet_assignment')
      .select('cluster_id')
      .distinct()
      .orderBy('cluster_id')
      .execute()
  ).map((r) => r.cluster_id)
