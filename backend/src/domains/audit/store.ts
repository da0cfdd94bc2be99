/** SQL for the audit log. Only the publisher writes to the log. */
import { type Selectable, sql } from 'kysely'
import { auditList } from '#contract/audit.ts'
import type { Input } from '#contract/operation.ts'
import type { Db, Tx } from '../../db/db.ts'
import { containing, readPage, type SqlReaders } from '../../db/list.ts'
import type { Tables } from '../../db/tables.gen.ts'

export type AuditRow = Selectable<Tables['audit_entry']>

const readers: SqlReaders<typeof auditList.list> = {
  sort: { seq: sql`seq` },
  filters: {
    action: (action) => sql`action = ${action}`,
    target: (id) => sql`target_id = ${id}`,
    actor: (name) => sql`actor_name = ${name}`,
  },
  search: containing('action', 'actor_name', 'target_name', 'target_id'),
  tie: sql`seq`,
}

export const page = (db: Db, query: Input<typeof auditList>['query']): Promise<{ rows: AuditRow[]; total: number }> =>
  readPage(db.selectFrom('audit_entry').selectAll(), auditList.list, readers, query)

export const ofTarget = (db: Db, kind: string, id: string, limit: number): Promise<AuditRow[]> =>
  db.selectFrom('audit_entry').selectAll().where('target_kind', '=', kind).where('target_id', '=', id).orderBy('seq', 'desc').limit(limit).execute()

export const from = (db: Tx, after: number, limit: number): Promise<AuditRow[]> =>
  db.selectFrom('audit_entry').selectAll().where('seq', '>', after).orderBy('seq').limit(limit).execute()

export const head = (db: Tx) => db.selectFrom('publication').select(['last_audit', 'last_hash', 'chain_sealed']).executeTakeFirstOrThrow()
