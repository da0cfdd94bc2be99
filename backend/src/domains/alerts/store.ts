/** SQL for channels, rules and silences. */
import { type Insertable, type Selectable, sql, type Updateable } from 'kysely'
import { channelList } from '#contract/alerts/channels.ts'
import { alertRuleList } from '#contract/alerts/rules.ts'
import { silenceList } from '#contract/alerts/silences.ts'
import type { Input } from '#contract/operation.ts'
import type { Db, Tx } from '../../db/db.ts'
import { containing, readPage, type SqlReaders } from '../../db/list.ts'
import type { Tables } from '../../db/tables.gen.ts'

type On = Db | Tx
export type ChannelRow = Selectable<Tables['channel']>
export type RuleRow = Selectable<Tables['alert_rule']>
export type SilenceRow = Selectable<Tables['silence']>

const channelReaders: SqlReaders<typeof channelList.list> = {
  sort: { name: sql`name`, verified_at: sql`verified_at`, created_at: sql`created_at` },
  filters: { kind: (kind) => sql`kind = ${kind}` },
  // Of a URL only the host, because not everybody who may search is shown the rest.
  search: containing('name', sql`split_part(url, '/', 3)`, 'host'),
  tie: sql`id`,
  nullsLast: true,
}
const ruleReaders: SqlReaders<typeof alertRuleList.list> = {
  sort: { name: sql`name`, created_at: sql`created_at` },
  filters: {},
  search: containing('name'),
  tie: sql`id`,
}
const silenceReaders = (now: Date): SqlReaders<typeof silenceList.list> => ({
  sort: { starts_at: sql`starts_at`, ends_at: sql`ends_at` },
  filters: {
    ended: (ended) => (ended === 'true' ? sql`ends_at <= ${now}` : sql`ends_at > ${now}`),
  },
  search: containing('note', 'object_name', 'made_by'),
  tie: sql`id`,
})

export const channelPage = (db: Db, query: Input<typeof channelList>['query']) =>
  readPage(db.selectFrom('channel').selectAll(), channelList.list, channelReaders, query)
export const rulePage = (db: Db, query: Input<typeof alertRuleList>['query']) =>
  readPage(db.selectFrom('alert_rule').selectAll(), alertRuleList.list, ruleReaders, query)
export const silencePage = (db: Db, query: Input<typeof silenceList>['query'], now: Date) =>
  readPage(db.selectFrom('silence').selectAll(), silenceList.list, silenceReaders(now), query)

export const channels = (on: On): Promise<ChannelRow[]> =>
  on.selectFrom('channel').selectAll().orderBy('id').execute()
export const rules = (on: On): Promise<RuleRow[]> =>
  on.selectFrom('alert_rule').selectAll().orderBy('name').execute()
export const silencesAfter = (on: On, at: Date): Promise<SilenceRow[]> =>
  on.selectFrom('silence').selectAll().where('ends_at', '>', at).execute()

type Noun = 'channel' | 'alert_rule' | 'silence'

export const findChannel = (on: On, id: string): Promise<ChannelRow | undefined> =>
  on.selectFrom('channel').selectAll().where('id', '=', id).executeTakeFirst()
export const lockChannel = (tx: Tx, id: string): Promise<ChannelRow | undefined> =>
  tx.selectFrom('channel').selectAll().where('id', '=', id).forUpdate().executeTakeFirst()
export const findRule = (on: On, id: string): Promise<RuleRow | undefined> =>
  on.selectFrom('alert_rule').selectAll().where('id', '=', id).executeTakeFirst()
export const lockRule = (tx: Tx, id: string): Promise<RuleRow | undefined> =>
  tx.selectFrom('alert_rule').selectAll().where('id', '=', id).forUpdate().executeTakeFirst()
export const findSilence = (on: On, id: string): Promise<SilenceRow | undefined> =>
  on.selectFrom('silence').selectAll().where('id', '=', id).executeTakeFirst()
export const lockSilence = (tx: Tx, id: string): Promise<SilenceRow | undefined> =>
  tx.selectFrom('silence').selectAll().where('id', '=', id).forUpdate().executeTakeFirst()
export const remove = (tx: Tx, noun: Noun, id: string) =>
  tx.deleteFrom(noun).where('id', '=', id).execute()

export const insertChannel = (tx: Tx, row: Insertable<Tables['channel']>): Promise<ChannelRow> =>
  tx.insertInto('channel').values(row).returningAll().executeTakeFirstOrThrow()
/** A change that users see: increments the version. */
export const updateChannel = (
  tx: Tx,
  id: string,
  change: Updateable<Tables['channel']>,
): Promise<ChannelRow> =>
  tx
    .updateTable('channel')
    .set({ ...change, version: sql<number>`version + 1` })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
/** What the last message says of the channel. Its version stays, so that an open form is not stale. */
export const noteChannel = (
  tx: Tx,
  id: string,
  change: Pick<
    Updateable<Tables['channel']>,
    'verified_at' | 'problem' | 'problem_since' | 'refreshed_at' | 'not_before' | 'gone_since'
  >,
) => tx.updateTable('channel').set(change).where('id', '=', id).execute()

export const insertRule = (tx: Tx, row: Insertable<Tables['alert_rule']>): Promise<RuleRow> =>
  tx.insertInto('alert_rule').values(row).returningAll().executeTakeFirstOrThrow()
export const updateRule = (
  tx: Tx,
  id: string,
  change: Updateable<Tables['alert_rule']>,
): Promise<RuleRow> =>
  tx
    .updateTable('alert_rule')
    .set({ ...change, version: sql<number>`version + 1` })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()

export const insertSilence = (tx: Tx, row: Insertable<Tables['silence']>): Promise<SilenceRow> =>
  tx.insertInto('silence').values(row).returningAll().executeTakeFirstOrThrow()
export const forgetSilences = (db: Db, before: Date) =>
  db.deleteFrom('silence').where('ends_at', '<', before).execute()
