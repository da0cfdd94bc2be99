/** SQL for rotations of secrets, and for the secrets that clusters had before. */
import { type Insertable, type Selectable, sql, type Updateable } from 'kysely'
import type { Db, Tx } from '../../db/db.ts'
import type { Tables } from '../../db/tables.gen.ts'

export type RotationRow = Selectable<Tables['cluster_rotation']>
export type GenerationRow = Selectable<Tables['cluster_secret_generation']>

/** The cluster's rotation that has not ended. */
export const rotation = (on: Db | Tx, clusterId: string): Promise<RotationRow | undefined> =>
  on
    .selectFrom('cluster_rotation')
    .selectAll()
    .where('cluster_id', '=', clusterId)
    .executeTakeFirst()

export const insertRotation = (tx: Tx, row: Insertable<Tables['cluster_rotation']>) =>
  tx.insertInto('cluster_rotation').values(row).execute()

export const updateRotation = (
  tx: Tx,
  clusterId: string,
  change: Updateable<Tables['cluster_rotation']>,
) => tx.updateTable('cluster_rotation').set(change).where('cluster_id', '=', clusterId).execute()

export const removeRotation = (tx: Tx, clusterId: string) =>
  tx.deleteFrom('cluster_rotation').where('cluster_id', '=', clusterId).execute()

/** The secrets that the cluster had before, newest first. */
export const generations = (on: Db | Tx, clusterId: string): Promise<GenerationRow[]> =>
  on
    .selectFrom('cluster_secret_generation')
    .selectAll()
    .where('cluster_id', '=', clusterId)
    .orderBy('generation', 'desc')
    .execute()

/** The number of the next generation. The cluster's row must be locked. */
export async function nextGeneration(tx: Tx, clusterId: string): Promise<number> {
  const found = await tx
    .selectFrom('cluster_secret_generation')
    .select(sql<number | null>`max(generation)`.as('generation'))
    .where('cluster_id', '=', clusterId)
    .executeTakeFirst()
  return (found?.generation ?? 0) + 1
}

export const insertGeneration = (tx: Tx, row: Insertable<Tables['cluster_secret_generation']>) =>
  tx.insertInto('cluster_secret_generation').values(row).execute()

/** Stores when the certificates were read, which users don't see. */
export const noteCertificates = (
  tx: Tx,
  id: string,
  columns: Pick<Updateable<Tables['cluster']>, 'certificates_ending' | 'certificates_read_at'>,
) => tx.updateTable('cluster').set(columns).where('id', '=', id).execute()
