/** SQL for trials of configurations, and for claims of servers that are given one. */
import type { Db, Tx } from '../../../db/db.ts'
import type { Trial } from './judge.ts'

/** The last trial of a server. */
export const trialOf = async (on: Db | Tx, nodeId: string): Promise<Trial | undefined> =>
  on.selectFrom('configuration_trial').selectAll().where('node_id', '=', nodeId).executeTakeFirst()

/** Whether another server of the cluster has a trial that has not ended. */
export const isAnotherTrying = async (
  on: Db | Tx,
  { cluster_id, node_id }: Pick<Trial, 'cluster_id' | 'node_id'>,
): Promise<boolean> =>
  (await on
    .selectFrom('configuration_trial')
    .select('node_id')
    .where('cluster_id', '=', cluster_id)
    .where('node_id', '!=', node_id)
    .where('phase', '!=', 'undone')
    .executeTakeFirst()) !== undefined

export const begin = (tx: Tx, trial: Trial) =>
  tx
    .insertInto('configuration_trial')
    .values(trial)
    .onConflict((c) => c.column('node_id').doUpdateSet(trial))
    .execute()

export const update = (
  tx: Tx,
  nodeId: string,
  change: Partial<Pick<Trial, 'phase' | 'answered_at' | 'confirmed_at' | 'reason'>>,
) => tx.updateTable('configuration_trial').set(change).where('node_id', '=', nodeId).execute()

export const remove = (tx: Tx, nodeId: string) =>
  tx.deleteFrom('configuration_trial').where('node_id', '=', nodeId).execute()

/** The process that claims, and its start: a restarted process takes its own claims over. */
export interface Claimant {
  readonly owner: string
  readonly instance: string
}

/** False: another run gives the server a configuration at this moment. */
export async function claim(
  db: Db,
  nodeId: string,
  { owner, instance }: Claimant,
  { now, until }: { readonly now: Date; readonly until: Date },
): Promise<boolean> {
  const claimed = { owner, instance, until }
  const taken = await db
    .insertInto('configuration_claim')
    .values({ node_id: nodeId, ...claimed })
    .onConflict((c) =>
      c
        .column('node_id')
        .doUpdateSet(claimed)
        .where((e) =>
          e.or([
            e('configuration_claim.until', '<', now),
            e.and([
              e('configuration_claim.owner', '=', owner),
              e('configuration_claim.instance', '!=', instance),
            ]),
          ]),
        ),
    )
    .returning('node_id')
    .executeTakeFirst()
  return taken !== undefined
}

export const release = (db: Db, nodeId: string, { owner, instance }: Claimant) =>
  db
    .deleteFrom('configuration_claim')
    .where('node_id', '=', nodeId)
    .where('owner', '=', owner)
    .where('instance', '=', instance)
    .execute()
