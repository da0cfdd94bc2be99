/** Who did what to what, when, from where, with what result. Append-only; `verify` finds what was edited, removed or put in another order. */
import { sql } from 'kysely'
import type { AuditEntry, auditList } from '#contract/audit.ts'
import type { Input } from '#contract/operation.ts'
import { orderOf } from '#contract/page.ts'
import type { Page } from '#contract/page.ts'
import { type Db, likePattern } from '../../db/db.ts'
import { type AuditFields, chainHash } from '../events/publisher.ts'
import * as store from './store.ts'

export interface Audit {
  list(query: Input<typeof auditList>['query']): Promise<Page<AuditEntry>>
  /** The newest entries about one object: its events for people. */
  ofTarget(
    target: { kind: string; id: string },
    limit: number,
  ): Promise<{ seq: number; at: string; action: string; actor: string; result: string; after: Record<string, unknown> | null }[]>
  /** Goes through the whole chain. Answers the number of the first entry that doesn't hold, or how many hold. */
  verify(): Promise<{ ok: true; entries: number } | { ok: false; seq: number; reason: string }>
}

const readBatch = 2_000

const present = (row: store.AuditRow): AuditEntry => ({
  seq: row.seq,
  at: row.at.toISOString(),
  actor: row.actor_kind === 'anonymous' ? null : row.actor_name,
  ip: row.ip,
  action: row.action,
  target: row.target_kind === null ? null : { kind: row.target_kind, id: row.target_id, name: row.target_name },
  result: row.outcome,
  after: row.after as Record<string, unknown> | null,
  request_id: row.request_id,
  hash: row.hash,
})

/** The entry as it was hashed: every column but the number and the hashes. */
const fields = ({ seq: _seq, hash: _hash, previous_hash: _previous, at, ...rest }: store.AuditRow): AuditFields => ({ ...rest, at: at.toISOString() })

export function audit({ db }: { db: Db }): Audit {
  return {
    async list(query) {
      let matching = db.selectFrom('audit_entry')
      if (query.action) matching = matching.where('action', '=', query.action)
      if (query.target) matching = matching.where('target_id', '=', query.target)
      if (query.actor) matching = matching.where('actor_name', '=', query.actor)
      if (query.q) {
        const pattern = likePattern(query.q)
        matching = matching.where((e) =>
          e.or([e('action', 'ilike', pattern), e('actor_name', 'ilike', pattern), e('target_name', 'ilike', pattern), e('target_id', 'ilike', pattern)]),
        )
      }
      const [rows, count] = await Promise.all([
        matching
          .selectAll()
          .orderBy('seq', orderOf(query.sort, '-seq').direction)
          .limit(query.per_page)
          .offset((query.page - 1) * query.per_page)
          .execute(),
        matching.select(sql<number>`count(*)::int`.as('n')).executeTakeFirstOrThrow(),
      ])
      return { items: rows.map(present), page: query.page, per_page: query.per_page, total: count.n }
    },

    async ofTarget({ kind, id }, limit) {
      const rows = await store.ofTarget(db, kind, id, limit)
      return rows.map((row) => ({
        seq: row.seq,
        at: row.at.toISOString(),
        action: row.action,
        actor: row.actor_name,
        result: row.outcome,
        after: row.after as Record<string, unknown> | null,
      }))
    },

    async verify() {
      let previous = ''
      let last = 0
      for (;;) {
        const rows = await store.from(db, last, readBatch)
        for (const row of rows) {
          if (row.seq !== last + 1) return { ok: false, seq: last + 1, reason: 'is missing' }
          if (row.previous_hash !== previous || row.hash !== chainHash(previous, row.seq, fields(row)))
            return { ok: false, seq: row.seq, reason: 'was changed' }
          previous = row.hash
          last = row.seq
        }
        if (rows.length < readBatch) break
      }
      const head = await store.head(db)
      if (head.last_audit !== last || head.last_hash !== previous) return { ok: false, seq: last + 1, reason: 'is missing' }
      return { ok: true, entries: last }
    },
  }
}
