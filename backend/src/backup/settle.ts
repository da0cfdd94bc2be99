/**
 * Prepares a database that was restored or went back in time. The machines may have changed since the backup, so old observations
 * are deleted, and every cluster and every open operation is held: Steelyard sends nothing to a
 * held object until a user resumes it (see `engine/holds.ts`). Runs in the transaction of the
 * restore, after the migrations, or before the first write to a database that went back.
 */
import type { PoolClient } from 'pg'
import { historyKinds } from '#contract/history/kinds.ts'
import { minuteOf } from '#contract/words.ts'
import { wentBackSentence } from '../db/position.ts'

/**
 * Number of event ids to skip: more than are published between a backup and its restore. A client
 * that resumes an older stream then has to reload everything.
 */
const skippedEvents = 1_000_000

/** What the history keeps of a server that was not contacted since the restore. */
const unknownState = JSON.stringify({ reachable: null, stage: 'unknown', node_ready: null })

interface Older {
  /** The time of the database's state. */
  readonly madeAt: Date
  readonly now: Date
  /** What the database lacks, if it went back in time by itself; without it, it was restored. */
  readonly missing?: string
}

export async function settle(client: PoolClient, { madeAt, now, missing }: Older) {
  const said =
    missing === undefined
      ? `Restored from a backup of ${minuteOf(madeAt)}`
      : wentBackSentence(madeAt, missing)

  const run = async (text: string, values: unknown[] = []): Promise<number> =>
    (await client.query(text, values)).rowCount ?? 0
  await run(
    'insert into restoration (backup_made_at, restored_at, missing) values ($1, $2, $3) on conflict (singleton) do update set backup_made_at = $1, restored_at = $2, missing = $3',
    [madeAt, now, missing ?? null],
  )

  // The backup may contain holds of an earlier restore. They are deleted, and everything is held
  // again.
  await run('delete from hold')
  const clusters = await run(
    `insert into hold (subject, kind, id) select id, 'cluster', id from cluster where deleted_at is null`,
  )
  await run(`insert into hold (subject, kind, id)
    select id, 'cluster', cluster_id from server where cluster_id is not null
    union select m.node_id, 'cluster', m.cluster_id from cluster_server m join cluster c on c.id = m.cluster_id where m.released_at is null and c.deleted_at is null
    on conflict do nothing`)
  await run(`insert into hold (subject, kind, id)
    select split_part(queue_key, '/', 1)::uuid, 'operation', id from operation
    where ended_at is null and split_part(queue_key, '/', 1) ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' order by created_at
    on conflict do nothing`)
  const reason = `${said}: check it, then resume it`
  const operations = await run(
    `update operation set status = case status when 'cancelling' then status else 'waiting' end, reason = $1, held_since = $2, version = version + 1 where ended_at is null`,
    [reason, now],
  )
  // What was wrong then would stay a finding for as long as nobody resumes the cluster.
  await run(
    `update cluster set reason = $1, problem = null, problem_since = null, misses = 0, observed = null, version = version + 1 where deleted_at is null`,
    [`${said}, not checked since`],
  )

  // The findings of held clusters are about an earlier restore.
  await run(
    `update finding set ended_at = $1, acknowledged_at = null, acknowledged_by = null, acknowledged_note = null where kind = 'cluster_held' and ended_at is null`,
    [now],
  )
  // Whatever takes a snapshot or a backup again first removes the file of the earlier attempt. That
  // file may be complete by now: a backup contains its own row, and its file is perhaps the one that
  // was restored.
  if (missing === undefined)
    await run(
      `update snapshot set status = 'removed', updated_at = $1, version = version + 1 where status = 'taking'`,
      [now],
    )

  // No reconciler is running now. Objects that were being reconciled at the time of the backup are
  // due again.
  await run(
    `update wake_up set owner = null, beat_at = null, held = false, failures = 0, last_error = null, crashes = 0, crash_mark = null, suspicions = 0, retry_at = null, trying = false, halted_at = null, due_at = case when owner is null then due_at else now() end`,
  )
  await run('update fleet_shard set owner = null, lease_until = null')
  await run('delete from fleet_member')

  // A server's state is unknown until its first contact. Deleted servers are updated too: their
  // stored transaction ids may be too high for this database.
  await run('delete from server_contact')
  await run(
    `update server set reachable = null, unreachable_since = null, reason = null, stage = 'unknown', unmet = '[]', node_ready = null, node_reason = null, node_since = null, version = version + 1 where status <> 'deleted'`,
  )
  await run(`update server set version = version where status = 'deleted'`)
  for (const kind of ['server', 'cluster'] as const)
    await run(
      `insert into history (at, kind, object_kind, object_id, object_name, cluster_id, cluster_name, actor_kind, actor_name, message, before, after)
      select $1, 'restored', '${kind}', id, name, ${kind === 'server' ? 'cluster_id, cluster_name' : 'id, name'}, 'steelyard', 'Steelyard', $2, '{}', $3
      from ${kind} where ${kind === 'server' ? "status <> 'deleted'" : 'deleted_at is null'}`,
      [now, historyKinds.restored.says(), kind === 'server' ? unknownState : '{}'],
    )
  await run('update subnet_assignment set used = null')
  await run('delete from subnet_use')

  // All sessions end: otherwise sessions that ended and tokens that were used after the backup
  // would be valid again.
  await run('delete from session')
  await run('update publication set last_event = last_event + $1', [skippedEvents])
  return { clusters, operations }
}
