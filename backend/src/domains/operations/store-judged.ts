/** SQL that reads operations for findings: what failed, what stopped, what works on a server. */
import { type NotNull, sql } from 'kysely'
import type { Db, Tx } from '../../db/db.ts'
import { columns, withSteps } from './store.ts'

/**
 * The servers of steps that running operations carry out, or have ended since this time. An
 * operation that was done since then counts too: it ends with its last step.
 */
export const touched = (on: Db | Tx, endedSince: Date) =>
  on
    .selectFrom('operation_step as s')
    .innerJoin('operation as o', 'o.id', 's.operation_id')
    .select(['s.node_id as server_id', (e) => e.fn.min<Date>('s.started_at').as('since')])
    .where((e) =>
      e.or([
        e('o.ended_at', 'is', null).and('o.status', 'in', ['running', 'cancelling']),
        e('o.ended_at', '>', endedSince).and('o.status', '=', 'done'),
      ]),
    )
    // Its steps only look at servers.
    .where('o.kind', '<>', 'serverAdd')
    .where('s.node_id', 'is not', null)
    .where('s.started_at', 'is not', null)
    .where((e) =>
      e.or([e('s.status', 'in', ['running', 'waiting']), e('s.ended_at', '>', endedSince)]),
    )
    .groupBy('s.node_id')
    .execute()

/** The first operations between two times on these objects, or with a step on one of them. */
export const about = (
  on: Db | Tx,
  scopes: readonly string[],
  objects: readonly string[],
  { from, to, limit }: { from: Date; to: Date; limit: number },
) =>
  on
    .selectFrom('operation as o')
    .select(['o.kind', 'o.target_kind', 'o.target_id', 'o.target_name'])
    .select(['o.status', 'o.reason', 'o.created_by_name', 'o.created_at'])
    .where('o.created_at', '>=', from)
    .where('o.created_at', '<=', to)
    .where(sql<boolean>`(o.scope is null or o.scope = any(${scopes}::text[]))`)
    .where(
      sql<boolean>`(o.target_id = any(${objects}::uuid[]) or exists (select from operation_step s where s.operation_id = o.id and s.node_id = any(${objects}::uuid[])))`,
    )
    .orderBy('o.created_at')
    .orderBy('o.id')
    .limit(limit)
    .execute()

/**
 * The changes of clusters that were to run at a time or in a maintenance window and have failed, if
 * nobody has asked for another change of the cluster since; the newest is the last. Upgrades are
 * told by `stoppedUpgrades`, and snapshots by their store's findings.
 */
export const failedScheduled = (on: Db | Tx) =>
  on
    .selectFrom('operation as o')
    .select(['o.id as operation_id', 'o.target_id as cluster_id', 'o.kind', 'o.reason'])
    .select(['o.ended_at', 'o.starts_at', 'o.in_window'])
    .$narrowType<{ cluster_id: NotNull; ended_at: NotNull }>()
    .where('o.status', '=', 'failed')
    .where('o.target_kind', '=', 'cluster')
    .where('o.target_id', 'is not', null)
    .where('o.ended_at', 'is not', null)
    .where((e) => e.or([e('o.in_window', '=', true), e('o.starts_at', 'is not', null)]))
    .where('o.kind', 'not in', [
      'clusterUpgradeTalos',
      'clusterUpgradeKubernetes',
      'clusterSnapshot',
    ])
    .where((e) =>
      e.not(
        e.exists(
          e
            .selectFrom('operation as later')
            .select('later.id')
            .where('later.target_kind', '=', 'cluster')
            .whereRef('later.target_id', '=', 'o.target_id')
            // What was asked for while this one waited doesn't answer its failure.
            .whereRef('later.created_at', '>', 'o.ended_at')
            .where('later.kind', '<>', 'clusterSnapshot'),
        ),
      ),
    )
    .orderBy('o.ended_at')
    .execute()

/** The step after which a server has the new version, by its key without the server. */
export const arrived = {
  clusterUpgradeTalos: 'upgrade',
  clusterUpgradeKubernetes: 'kubelet',
} as const

/**
 * The newest upgrade of each kind of each cluster, if it has failed, was cancelled or runs. One that
 * has not begun, or was cancelled before any server had the version, leaves the cluster as the one
 * before it has left it.
 */
export async function stoppedUpgrades(on: Db | Tx) {
  const newest = on
    .selectFrom('operation')
    .distinctOn(['target_id', 'kind'])
    .select(columns)
    .select(sql<string | null>`arguments->'change'->>'version'`.as('to_version'))
    .where('kind', 'in', ['clusterUpgradeTalos', 'clusterUpgradeKubernetes'])
    .where((e) => e.or([e('started_at', 'is not', null), e('ended_at', 'is not', null)]))
    .where((e) =>
      e.or([
        e('status', '<>', 'cancelled'),
        e.exists(
          e
            .selectFrom('operation_step as s')
            .select('s.key')
            .whereRef('s.operation_id', '=', 'operation.id')
            .where('s.node_id', 'is not', null)
            .where('s.status', '=', 'done')
            .where(
              sql<string>`split_part(s.key, '/', 1)`,
              '=',
              sql<string>`case operation.kind when 'clusterUpgradeTalos' then ${arrived.clusterUpgradeTalos} else ${arrived.clusterUpgradeKubernetes} end`,
            ),
        ),
      ]),
    )
    .orderBy('target_id')
    .orderBy('kind')
    .orderBy('created_at', 'desc')
  const rows = await on
    .selectFrom(newest.as('newest'))
    .selectAll()
    .where('status', '<>', 'done')
    .execute()
  return withSteps(on, rows)
}
