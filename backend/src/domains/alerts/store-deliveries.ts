/** SQL for messages, their attempts, and what channels were told. */
import { type Insertable, type Selectable, sql } from 'kysely'
import { deliveryList } from '#contract/alerts/deliveries.ts'
import type { FindingObject } from '#contract/findings/kinds.ts'
import type { Input } from '#contract/operation.ts'
import type { Db, Tx } from '../../db/db.ts'
import { containing, readPage, type SqlReaders } from '../../db/list.ts'
import type { Tables } from '../../db/tables.gen.ts'

type On = Db | Tx
export type DeliveryRow = Selectable<Tables['delivery']>
export type AttemptRow = Selectable<Tables['delivery_attempt']>

/** Characters that are kept of the answers to earlier attempts. */
const earlierAnswer = 1000

const readers: SqlReaders<typeof deliveryList.list> = {
  sort: { created_at: sql`created_at` },
  filters: {
    state: (state) =>
      state === 'waiting'
        ? sql`ended_at is null`
        : state === 'sent'
          ? sql`arrived`
          : sql`not arrived`,
    channel: (name) => sql`channel_name = ${name}`,
  },
  search: containing('subject', 'channel_name', 'problem'),
  tie: sql`id`,
}

/** @param hidden kinds of objects: messages only about these are left out */
export const page = (
  db: Db,
  query: Input<typeof deliveryList>['query'],
  hidden: readonly FindingObject[],
) =>
  readPage(
    db
      .selectFrom('delivery')
      .selectAll()
      .where(
        sql<boolean>`(content -> 'items' = '[]' or exists (select from jsonb_array_elements(content -> 'items') item where item -> 'object' ->> 'kind' <> all(${hidden}::text[])))`,
      ),
    deliveryList.list,
    readers,
    query,
  )
export const find = (on: On, id: string): Promise<DeliveryRow | undefined> =>
  on.selectFrom('delivery').selectAll().where('id', '=', id).executeTakeFirst()
export const attemptsOf = (on: On, id: string): Promise<AttemptRow[]> =>
  on
    .selectFrom('delivery_attempt')
    .selectAll()
    .where('delivery_id', '=', id)
    .orderBy('number')
    .execute()

export const insert = (tx: Tx, row: Insertable<Tables['delivery']>): Promise<DeliveryRow> =>
  tx.insertInto('delivery').values(row).returningAll().executeTakeFirstOrThrow()

/** The oldest message to the channel that is due at this time, or the one that is due next. */
export const nextOf = (on: On, channelId: string, at: Date): Promise<DeliveryRow | undefined> =>
  on
    .selectFrom('delivery')
    .selectAll()
    .where('channel_id', '=', channelId)
    .where('next_at', 'is not', null)
    .orderBy(sql`greatest(next_at, ${at})`)
    .orderBy('created_at')
    .orderBy('id')
    .limit(1)
    .executeTakeFirst()

/**
 * Records an attempt. `next_at`: when it is sent again; null: it has ended. `arrived`: at somebody,
 * at least.
 */
export async function attempted(
  tx: Tx,
  attempt: Insertable<Tables['delivery_attempt']>,
  {
    next_at,
    at,
    arrived,
    problem,
  }: { next_at: Date | null; at: Date; arrived: boolean; problem: string | null },
): Promise<void> {
  const { delivery_id: id } = attempt
  await tx.insertInto('delivery_attempt').values(attempt).execute()
  await tx
    .updateTable('delivery_attempt')
    .set({ answer: sql<string>`left(answer, ${earlierAnswer})` })
    .where('delivery_id', '=', id)
    .where('number', '=', attempt.number - 1)
    .execute()
  await tx
    .updateTable('delivery')
    .set({
      attempts: attempt.number,
      problem,
      next_at,
      ...(next_at === null && { arrived, ended_at: at }),
    })
    .where('id', '=', id)
    .execute()
}

export const lock = (tx: Tx, id: string): Promise<DeliveryRow | undefined> =>
  tx.selectFrom('delivery').selectAll().where('id', '=', id).forUpdate().executeTakeFirst()
/** A message that has ended waits again. */
export const begin = (
  tx: Tx,
  id: string,
  { at, expires_at }: { at: Date; expires_at: Date },
): Promise<DeliveryRow> =>
  tx
    .updateTable('delivery')
    .set({ next_at: at, expires_at, arrived: null, ended_at: null })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()

/**
 * Whether an earlier attempt is of use: not for a mail whose recipients the server has refused for
 * now, because it wants to be asked later.
 */
const mayHurry = sql<boolean>`(
  not exists (select from delivery_recipient r where r.delivery_id = delivery.id and r.next_at is not null)
  or exists (select from delivery_recipient r where r.delivery_id = delivery.id and r.next_at is not null and r.status is null)
)`
const hurried = async (tx: Tx, ids: readonly string[], at: Date): Promise<void> => {
  await tx
    .updateTable('delivery')
    .set({ next_at: at })
    .where('id', '=', sql<string>`any(${ids}::uuid[])`)
    .execute()
  await tx
    .updateTable('delivery_recipient')
    .set({ next_at: at })
    .where('delivery_id', '=', sql<string>`any(${ids}::uuid[])`)
    .where('next_at', '>', at)
    .where('status', 'is', null)
    .execute()
}
const late = (tx: Tx, channelId: string, at: Date) =>
  tx
    .selectFrom('delivery')
    .select(['id', 'next_at'])
    .where('channel_id', '=', channelId)
    .where('next_at', '>', at)
    .where(mayHurry)

/** After a message has arrived: what waits for the next attempt is sent now. */
export const hurry = async (tx: Tx, channelId: string, at: Date): Promise<void> => {
  const rows = await late(tx, channelId, at).execute()
  await hurried(
    tx,
    rows.map(({ id }) => id),
    at,
  )
}

/** The oldest message that waits for the next attempt is sent now. */
export const hurryOldest = async (tx: Tx, channelId: string, at: Date): Promise<void> => {
  const [oldest] = await tx
    .selectFrom('delivery')
    .select('id')
    .where('channel_id', '=', channelId)
    .where('next_at', 'is not', null)
    .orderBy('created_at')
    .orderBy('id')
    .limit(1)
    .execute()
  const rows = oldest ? await late(tx, channelId, at).where('id', '=', oldest.id).execute() : []
  await hurried(
    tx,
    rows.map(({ id }) => id),
    at,
  )
}

/** Ends a message. `arrived`: at somebody, at least. */
export const end = (
  tx: Tx,
  id: string,
  { problem, arrived, at }: { problem: string | null; arrived: boolean; at: Date },
) =>
  tx
    .updateTable('delivery')
    .set({ next_at: null, arrived, ended_at: at, problem })
    .where('id', '=', id)
    .where('next_at', 'is not', null)
    .execute()
/** A message waits for another time. */
export const wait = (tx: Tx, id: string, next_at: Date) =>
  tx.updateTable('delivery').set({ next_at }).where('id', '=', id).execute()

/** Gives up what waits for a channel that is removed, or whose receiver is gone. */
export async function drop(tx: Tx, channelId: string, problem: string, at: Date): Promise<void> {
  await sql`update delivery_recipient r set next_at = null, arrived = false, problem = ${problem}
    from delivery d where d.id = r.delivery_id and d.channel_id = ${channelId} and r.next_at is not null`.execute(
    tx,
  )
  await sql`update delivery d set next_at = null, ended_at = ${at}, problem = ${problem},
    arrived = exists (select from delivery_recipient r where r.delivery_id = d.id and r.arrived)
    where d.channel_id = ${channelId} and d.next_at is not null`.execute(tx)
}

/** When the last message to each channel was made, tests not counted. */
export const lastMade = async (on: On): Promise<ReadonlyMap<string, Date>> =>
  new Map(
    (
      await on
        .selectFrom('delivery')
        .select(['channel_id', (e) => e.fn.max('created_at').as('at')])
        .where('test', '=', false)
        .where('channel_id', 'is not', null)
        .groupBy('channel_id')
        .execute()
    ).map((row) => [row.channel_id!, row.at]),
  )

/** Ids of the incidents of which a channel was told and not yet that they have ended. */
export const toldIds = async (on: On): Promise<string[]> => {
  const rows = await on
    .selectFrom('alert')
    .select('incident_id')
    .distinct()
    .where('ended_at', 'is', null)
    .execute()
  return rows.map((row) => row.incident_id)
}
/** What the channel was told and not yet that it has ended. */
export const toldOf = (on: On, channelId: string) =>
  on
    .selectFrom('alert')
    .select(['incident_id', 'finding_id', 'told_at', 'again', 'ended_at'])
    .where('channel_id', '=', channelId)
    .where('ended_at', 'is', null)
    .execute()

/** The channel was told that these incidents are open, each with the finding that is its cause. */
export const tell = (
  tx: Tx,
  channelId: string,
  told: readonly { readonly id: string; readonly findingId: string }[],
  at: Date,
) =>
  sql`insert into alert (incident_id, channel_id, finding_id, told_at)
    select o.incident, ${channelId}, o.finding, ${at}
    from unnest(${told.map(({ id }) => id)}::uuid[], ${told.map(({ findingId }) => findingId)}::uuid[]) as o (incident, finding)
    on conflict (incident_id, channel_id) do update set finding_id = excluded.finding_id, told_at = excluded.told_at, again = false, ended_at = null`.execute(
    tx,
  )
/** Makes every channel that was told of these open incidents hear of them again. */
export const tellAgain = (tx: Tx, incidentIds: readonly string[]) =>
  tx
    .updateTable('alert')
    .set({ again: true })
    .where('incident_id', '=', sql<string>`any(${incidentIds}::uuid[])`)
    .where('ended_at', 'is', null)
    .execute()
/** Makes the channel hear again of what it was last told at this time, without these incidents. */
export const tellAfresh = (tx: Tx, channelId: string, at: Date, without: readonly string[]) =>
  tx
    .updateTable('alert')
    .set({ again: true })
    .where('channel_id', '=', channelId)
    .where('told_at', '=', at)
    .where('ended_at', 'is', null)
    .where('incident_id', '<>', sql<string>`all(${without}::uuid[])`)
    .execute()
/** Makes the channel hear again of every open incident. */
export const tellAllAfresh = (tx: Tx, channelId: string) =>
  tx
    .updateTable('alert')
    .set({ again: true })
    .where('channel_id', '=', channelId)
    .where('ended_at', 'is', null)
    .execute()
/** The channel was told that these incidents have ended. */
export const tellEnd = (tx: Tx, channelId: string, incidentIds: readonly string[], at: Date) =>
  tx
    .updateTable('alert')
    .set({ ended_at: at })
    .where('channel_id', '=', channelId)
    .where('incident_id', '=', sql<string>`any(${incidentIds}::uuid[])`)
    .execute()

export const forget = (db: Db, before: Date) =>
  db.deleteFrom('delivery').where('ended_at', '<', before).execute()
