/** SQL for the audit log. Only the publisher writes it. */
import type { Selectable } from 'kysely'
import type { Db, Tx } from '../../db/db.ts'
import type { Tables } from '../../db/tables.ts'

export type AuditRow = Selectable<Tables['audit_entry']>

export const ofTarget = (db: Db, kind: string, id: string, limit: number): Promise<AuditRow[]> =>
  db.selectFrom('audit_entry').selectAll().where('target_kind', '=', kind).where('target_id', '=', id).orderBy('seq', 'desc').limit(limit).execute()

export const from = (db: Tx, after: number, limit: number): Promise<AuditRow[]> =>
  db.selectFrom('audit_entry').selectAll().where('seq', '>', after).orderBy('seq').limit(limit).execute()

export const head = (db: Tx) => db.selectFrom('publication').select(['last_audit', 'last_hash', 'chain_sealed']).executeTakeFirstOrThrow()
