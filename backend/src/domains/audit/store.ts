/** SQL for the audit log. Only the publisher writes to the log. */
import { type Selectable, sql } from 'kysely'
import { type auditCsv, auditList } from '#contract/audit.ts'
import type { Input } from '#contract/operation.ts'
import type { Db, Tx } from '../../db/db.ts'
import { containing, narrowed, readPage, type SqlReaders } from '../../db/list.ts'
import type { Tables } from '../../db/tables.gen.ts'

export type AuditRow = Selectable<Tables['audit_entry']>

const readers: SqlReaders<typeof auditList.list> = {
  sort: { seq: sql`seq` },
  filters: {
    about: (noun) => sql`action like ${`${noun}.%`}`,
    action: (action) => sql`action = ${action}`,
    actor: (name) => sql`actor_name = ${name}`,
    result: (result) => (result === 'ok' ? sql`outcome = 'ok'` : sql`outcome <> 'ok'`),
    target: (id) => sql`target_id = ${id}`,
    ip: (address) => sql`ip = ${address}`,
    since: (at) => sql`at >= ${new Date(at)}`,
    until: (at) => sql`at < ${new Date(at)}`,
  },
  search: containing('action', 'actor_name', 'target_name', 'target_id'),
  tie: sql`seq`,
}

export const page = (
  db: Db,
  query: Input<typeof auditList>['query'],
): Promise<{ rows: AuditRow[]; total: number }> =>
  readPage(db.selectFrom('audit_entry').selectAll(), auditList.list, readers, query)

export const ofTarget = (db: Db, kind: string, id: string, limit: number): Promise<AuditRow[]> =>
  db
    .selectFrom('audit_entry')
    .selectAll()
    .where('target_kind', '=', kind)
    .where('target_id', '=', id)
    .orderBy('seq', 'desc')
    .limit(limit)
    .execute()

/** Number of the newest entry; 0 if there is none. */
export const last = async (db: Db | Tx): Promise<number> =>
  (
    await db
      .selectFrom('audit_entry')
      .select('seq')
      .orderBy('seq', 'desc')
      .limit(1)
      .executeTakeFirst()
  )?.seq ?? 0

/** The matching entries with numbers above `after` and up to `upTo`, oldest first. */
export const matching = (
  db: Db,
  query: Input<typeof auditCsv>['query'],
  { after, upTo, limit }: { after: number; upTo: number; limit: number },
) =>
  narrowed(db.selectFrom('audit_entry').selectAll(), auditList.list, readers, query)
    .where('seq', '>', after)
    .where('seq', '<=', upTo)
    .orderBy('seq')
    .limit(limit)
    .execute()

export const from = (db: Tx, after: number, limit: number): Promise<AuditRow[]> =>
  db
    .selectFrom('audit_entry')
    .selectAll()
    .where('seq', '>', after)
    .orderBy('seq')
    .limit(limit)
    .execute()

export const head = (db: Tx) =>
  db
    .selectFrom('publication')
    .select(['last_audit', 'last_hash', 'chain_sealed'])
    .executeTakeFirstOrThrow()
