/** SQL for the audit log. Only the publisher writes to the log. */
import { type Selectable, sql } from 'kysely'
import { type auditCsv, auditList } from '#contract/audit.ts'
import type { Input } from '#contract/operation.ts'
import type { Db, Tx } from '../../db/db.ts'
import { containing, narrowed, readPage, type SqlReaders } from '../../db/list.ts'
import type { Tables } from '../../db/tables.gen.ts'

export type AuditRow = Selectable<Tables['audit_entry']>
/** A row with excerpts of large texts; `shortened`: the entry has the texts themselves. */
export type ListedRow = AuditRow & { readonly shortened: boolean }

const columns = [
  'seq',
  'at',
  'action',
  'outcome',
  'actor_kind',
  'actor_id',
  'actor_name',
  'session_id',
  'ip',
  'request_id',
  'target_kind',
  'target_id',
  'target_name',
  'previous_hash',
  'hash',
] as const

/** `before` and `after` of an entry, or the excerpts if an older version wrote large texts. */
const shortField = (field: 'before' | 'after') =>
  sql`case
    when exists (select from audit_excerpt x where x.seq = audit_entry.seq)
    then (select x.${sql.ref(field)} from audit_excerpt x where x.seq = audit_entry.seq)
    else audit_entry.${sql.ref(field)}
  end`.as(field)
const short = (db: Db) =>
  db
    .selectFrom('audit_entry')
    .select([
      ...columns,
      shortField('before'),
      shortField('after'),
      sql<boolean>`exists (select from audit_excerpt x where x.seq = audit_entry.seq)`.as(
        'shortened',
      ),
    ])

/**
 * Bytes of `before` and `after` of one entry up to which many entries are read at once. What is
 * recorded now is smaller.
 */
const largeBytes = 64 * 1024
/** Entries that are read at once, with at most 16 MiB. */
export const readBatch = 256
const isLarge = sql<boolean>`coalesce(octet_length(before::text), 0) + coalesce(octet_length(after::text), 0) > ${sql.lit(largeBytes)}`
const unlessLarge = (field: 'before' | 'after') =>
  sql`case when ${isLarge} then null else ${sql.ref(field)} end`.as(field)
const slice = (on: Db | Tx) =>
  on
    .selectFrom('audit_entry')
    .select([...columns, unlessLarge('before'), unlessLarge('after'), isLarge.as('is_large')])

/** The entries whole: those with large texts one after another. */
async function* whole(
  on: Db | Tx,
  rows: readonly (AuditRow & { is_large: boolean })[],
): AsyncGenerator<AuditRow> {
  for (const { is_large, ...row } of rows) {
    if (!is_large) {
      yield row
      continue
    }
    const found = await one(on, row.seq)
    // An entry is never removed, except by somebody who edits the database.
    if (found) yield found
  }
}

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
): Promise<{ rows: ListedRow[]; total: number }> =>
  readPage(short(db), auditList.list, readers, query)

export const one = (on: Db | Tx, seq: number): Promise<AuditRow | undefined> =>
  on.selectFrom('audit_entry').selectAll().where('seq', '=', seq).executeTakeFirst()

export const ofTarget = (db: Db, kind: string, id: string, limit: number): Promise<AuditRow[]> =>
  short(db)
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

/**
 * The matching entries with numbers above `after` and up to `upTo`, oldest first, whole. Reads
 * slices that are bounded in bytes.
 */
export async function* matching(
  db: Db,
  query: Input<typeof auditCsv>['query'],
  upTo: number,
): AsyncGenerator<AuditRow> {
  for (let after = 0; ;) {
    const rows = await narrowed(slice(db), auditList.list, readers, query)
      .where('seq', '>', after)
      .where('seq', '<=', upTo)
      .orderBy('seq')
      .limit(readBatch)
      .execute()
    yield* whole(db, rows)
    if (rows.length < readBatch) return
    after = rows.at(-1)!.seq
  }
}

/** The next entries after a number, whole, at most `readBatch`. */
export async function* from(tx: Tx, after: number): AsyncGenerator<AuditRow> {
  yield* whole(
    tx,
    await slice(tx).where('seq', '>', after).orderBy('seq').limit(readBatch).execute(),
  )
}

export const head = (db: Tx) =>
  db
    .selectFrom('publication')
    .select(['last_audit', 'last_hash', 'chain_sealed'])
    .executeTakeFirstOrThrow()
