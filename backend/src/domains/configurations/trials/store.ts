/** SQL for trials of configurations, and for claims of servers that are given one. */
import type { Db, Tx } from '../../../db/db.ts'
import type { Trial } from './judge.ts'

/** A released server keeps its row in the cluster. Its trial there says nothing any more. */
const ofMembers = (on: Db | Tx) =>
  on
    .selectFrom('configuration_trial as trial')
    .innerJoin('cluster_server as member', (join) =>
      join
        .onRef('member.cluster_id', '=', 'trial.cluster_id')
        .onRef('member.node_id', '=', 'trial.node_id'),
    )
    .where('member.released_at', 'is', null)

/** The last trial of a server in its cluster. */
export const trialOf = async (on: Db | Tx, nodeId: string): Promise<Trial | undefined> =>
  ofMembers(on).selectAll('trial').where('trial.node_id', '=', nodeId).executeTakeFirst()

/** The other servers of the cluster with trials that have not ended. */
export const othersTrying = (
  on: Db | Tx,
  { cluster_id, node_id }: Pick<Trial, 'cluster_id' | 'node_id'>,
): Promise<(Pick<Trial, 'node_id' | 'began_at' | 'lasts_ms'> & { readonly name: string })[]> =>
  ofMembers(on)
    .select(['trial.node_id', 'trial.began_at', 'trial.lasts_ms', 'member.name'])
    .where('trial.cluster_id', '=', cluster_id)
    .where('trial.node_id', '!=', node_id)
    .where('trial.phase', '!=', 'undone')
    .execute()

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
