/** SQL for the kept events of machines. */
import { sql } from 'kysely'
import type { Db } from '../../../db/db.ts'
import type { MachineEvent } from './machine-events.ts'

/**
 * Writes new events, and removes the oldest of these servers beyond `most`. Servers come in a fixed
 * order, so that two processes don't dead-lock.
 */
export async function keep(
  db: Db,
  events: ReadonlyMap<string, readonly MachineEvent[]>,
  most: number,
): Promise<void> {
  const ids = [...events.keys()].toSorted()
  const rows = ids.flatMap((server_id) =>
    events
      .get(server_id)!
      .map(({ id, at, type, message }) => ({ server_id, id, at, type, message })),
  )
  await sql`insert into machine_event (server_id, id, at, type, message)
    select e.server_id, e.id, e.at, e.type, e.message
    from json_to_recordset(${JSON.stringify(rows)}) as e (server_id uuid, id text, at timestamptz, type text, message text)
    order by e.server_id, e.id
    on conflict do nothing`.execute(db)
  await sql`delete from machine_event m using (
      select server_id, id, row_number() over (partition by server_id order by id desc) as n
      from machine_event where server_id = any(${ids}::uuid[])
    ) as old
    where old.n > ${most} and m.server_id = old.server_id and m.id = old.id`.execute(db)
}

/** Removes events from before a time: of servers that have told none since, or were removed. */
export const removeOld = (db: Db, before: Date) =>
  db.deleteFrom('machine_event').where('at', '<', before).execute()

/** The newest events of a server. */
export const ofServer = async (db: Db, serverId: string, most: number): Promise<MachineEvent[]> =>
  (
    await db
      .selectFrom('machine_event')
      .select(['id', 'at', 'type', 'message'])
      .where('server_id', '=', serverId)
      .orderBy('id', 'desc')
      .limit(most)
      .execute()
  ).map(({ at, ...event }) => ({
    ...event,
    at: at?.toISOString() ?? null,
    source: 'talos',
    by: null,
    operation_id: null,
  }))
