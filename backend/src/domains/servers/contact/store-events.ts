/** SQL for the kept events of machines. */
import { type Selectable, sql } from 'kysely'
import type { Db } from '../../../db/db.ts'
import type { Tables } from '../../../db/tables.gen.ts'
import { counted, type MachineEvent } from './repeated-events.ts'

type Columns = Pick<
  Selectable<Tables['machine_event']>,
  'id' | 'at' | 'type' | 'message' | 'count' | 'first_at' | 'matters'
>
const columns = ['id', 'at', 'type', 'message', 'count', 'first_at', 'matters'] as const

const present = ({ id, at, type, message, count, first_at, matters }: Columns): MachineEvent => ({
  id,
  type,
  message,
  count,
  matters,
  at: at?.toISOString() ?? null,
  first_at: first_at?.toISOString() ?? null,
  source: 'talos',
  by: null,
  operation_id: null,
})

/** The kept events of the same types and messages, by server. */
async function alike(
  db: Db,
  told: readonly { readonly server_id: string; readonly event: MachineEvent }[],
): Promise<ReadonlyMap<string, MachineEvent[]>> {
  const wanted = told.map(({ server_id, event: { type, message } }) => ({
    server_id,
    type,
    message,
  }))
  const { rows } = await sql<
    Columns & { readonly server_id: string }
  >`select m.server_id, m.id, m.at,
      m.type, m.message, m.count, m.first_at, m.matters
    from machine_event m join (
      select distinct * from json_to_recordset(${JSON.stringify(wanted)})
        as w (server_id uuid, type text, message text)
    ) as w using (server_id, type, message)`.execute(db)
  return new Map(
    [...Map.groupBy(rows, (row) => row.server_id)].map(([id, own]) => [id, own.map(present)]),
  )
}

/**
 * Writes new events, and counts those that repeat. Removes the oldest of these servers beyond `most`;
 * the newest `thatMatter` of those that matter stay. Servers come in a fixed order, so that two
 * processes don't dead-lock.
 */
export async function keep(
  db: Db,
  events: ReadonlyMap<string, readonly MachineEvent[]>,
  { most, thatMatter }: { readonly most: number; readonly thatMatter: number },
): Promise<void> {
  const told = [...events].flatMap(([server_id, all]) => all.map((event) => ({ server_id, event })))
  const known = await alike(db, told)
  const ids = [...events.keys()].toSorted()
  const rows = ids.flatMap((server_id) =>
    counted(known.get(server_id) ?? [], events.get(server_id)!).changed.map(
      ({ was, event: { id, at, type, message, count, first_at, matters } }) => ({
        server_id,
        was,
        id,
        at,
        type,
        message,
        count,
        first_at,
        matters,
      }),
    ),
  )
  if (rows.length === 0) return
  await sql`with told as (
      select * from json_to_recordset(${JSON.stringify(rows)}) as e (server_id uuid, was text, id text,
        at timestamptz, type text, message text, count integer, first_at timestamptz, matters boolean)
    ), replaced as (
      delete from machine_event m using told t where m.server_id = t.server_id and m.id = t.was
    )
    insert into machine_event (server_id, id, at, type, message, count, first_at, matters)
    select server_id, id, at, type, message, count, first_at, matters from told
    order by server_id, id
    on conflict do nothing`.execute(db)
  await sql`delete from machine_event m using (
      select server_id, id,
        row_number() over (partition by server_id order by stays desc, id desc) as n
      from (
        select server_id, id, row_number() over (partition by server_id, matters order by id desc)
          <= case when matters then ${thatMatter}::int else ${most - thatMatter}::int end as stays
        from machine_event where server_id = any(${ids}::uuid[])
      ) as ranked
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
      .select(columns)
      .where('server_id', '=', serverId)
      .orderBy('id', 'desc')
      .limit(most)
      .execute()
  ).map(present)
