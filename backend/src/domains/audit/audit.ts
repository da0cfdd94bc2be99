/** The audit log: who did what to which object, when, from where, with what result. Append-only. `verify` detects edited, removed, added and moved entries. */
import type { FastifyInstance } from 'fastify'
import type * as z from 'zod/mini'
import { type AuditEntry, auditList, auditSentence } from '#contract/audit.ts'
import type { ClusterEvent } from '#contract/clusters/clusters.ts'
import type { Input } from '#contract/operation.ts'
import type { Page } from '#contract/page.ts'
import type { Db, Tx } from '../../db/db.ts'
import { serve } from '../../http/serve.ts'
import { SealBroken } from '../../vault/cipher.ts'
import type { Vault } from '../../vault/vault.ts'
import { type AuditFields, type Chain, type ChainHead, keyedHash, openChain, unkeyedHash } from '../events/chain.ts'
import * as store from './store.ts'

export type Audit = ReturnType<typeof audit>

export type ChainVerdict =
  | {
      readonly ok: true
      readonly entries: number
      readonly head: ChainHead
      /** Number of older entries, whose hashes were computed without a key. */
      readonly unkeyed: number
    }
  /** `seq`: number of the first wrong entry. `reason`: continues a sentence that begins with "Entry" and this number. */
  | { readonly ok: false; readonly seq: number; readonly reason: string }

const readBatch = 2_000

const present = (row: store.AuditRow): AuditEntry => ({
  seq: row.seq,
  at: row.at.toISOString(),
  actor: row.actor_kind === 'anonymous' ? null : row.actor_name,
  session_id: row.session_id,
  by_token: row.actor_kind === 'token',
  ip: row.ip,
  action: row.action,
  target: row.target_kind === null ? null : { kind: row.target_kind, id: row.target_id, name: row.target_name },
  result: row.outcome,
  after: row.after as Record<string, unknown> | null,
  request_id: row.request_id,
  hash: row.hash,
})

/** The hashed part of an entry: every column except its number and the hashes. */
const fields = ({ seq: _seq, hash: _hash, previous_hash: _previous, at, ...rest }: store.AuditRow): AuditFields => ({ ...rest, at: at.toISOString() })

export function auditRoutes(app: FastifyInstance, audit: Audit): void {
  serve(app)(auditList, ({ query }) => audit.list(query))
}

export const audit = ({ db, vault }: { db: Db; vault: Vault }) => ({
  async list(query: Input<typeof auditList>['query']): Promise<Page<AuditEntry>> {
    const { rows, total } = await store.page(db, query)
    return { items: rows.map(present), page: query.page, per_page: query.per_page, total }
  },

  /** The newest entries about one object, converted to events for users. */
  events: async ({ kind, id }: { kind: string; id: string }, limit: number): Promise<z.output<typeof ClusterEvent>[]> =>
    (await store.ofTarget(db, kind, id, limit)).map(({ seq, at, action, actor_name, outcome, after }) => {
      const sentence = auditSentence(action, after as Record<string, unknown> | null)
      const message = outcome === 'ok' ? sentence : `${sentence}: refused (${outcome})`
      return { id: `audit-${seq}`, at: at.toISOString(), type: action, message, by: actor_name }
    }),

  /** Verifies the whole chain in one database snapshot. `noted`: number and hash of an entry, recorded elsewhere; the chain must contain this entry. */
  verify: (noted?: ChainHead): Promise<ChainVerdict> =>
    db
      .transaction()
      .setIsolationLevel('repeatable read')
      .setAccessMode('read only')
      .execute((tx) => verifyChain(tx, vault, noted)),
})

const wasChanged = 'was changed'

async function verifyChain(tx: Tx, vault: Vault, noted: ChainHead | undefined): Promise<ChainVerdict> {
  const written = await store.head(tx)
  let chain: Chain | undefined
  try {
    chain = written.chain_sealed ? await openChain(vault, tx, written.chain_sealed) : undefined
  } catch (error) {
    if (!(error instanceof SealBroken)) throw error
    return { ok: false, seq: 1, reason: `can't be checked, because the key of the chain can't be opened: ${error.message}` }
  }
  const hashOf = (previous: string, row: store.AuditRow) =>
    chain && row.seq > chain.after.seq ? keyedHash(chain.key, previous, row.seq, fields(row)) : unkeyedHash(previous, row.seq, fields(row))
  const mustBe = new Map<number, { hash: string; reason: string }>()
  if (noted) mustBe.set(noted.seq, { hash: noted.hash, reason: 'has another hash than the recorded one: this entry or an earlier one was rewritten' })
  if (chain && !mustBe.has(chain.after.seq)) mustBe.set(chain.after.seq, { hash: chain.after.hash, reason: wasChanged })
  let head: ChainHead = { seq: 0, hash: '' }
  for (;;) {
    const rows = await store.from(tx, head.seq, readBatch)
    for (const row of rows) {
      if (row.seq !== head.seq + 1) return { ok: false, seq: head.seq + 1, reason: 'is missing' }
      if (row.previous_hash !== head.hash || row.hash !== hashOf(head.hash, row)) return { ok: false, seq: row.seq, reason: wasChanged }
      const known = mustBe.get(row.seq)
      if (known && known.hash !== row.hash) return { ok: false, seq: row.seq, reason: known.reason }
      head = { seq: row.seq, hash: row.hash }
    }
    if (rows.length < readBatch) break
  }
  const last = Math.max(written.last_audit, chain?.after.seq ?? 0)
  if (head.seq < last) return { ok: false, seq: head.seq + 1, reason: 'is missing' }
  if (head.seq > last) return { ok: false, seq: last + 1, reason: 'was not added by Steelyard' }
  if (head.hash !== written.last_hash) return { ok: false, seq: head.seq, reason: 'is not the last entry that was recorded' }
  if (noted && noted.seq > head.seq) return { ok: false, seq: head.seq + 1, reason: `is missing, and so are all up to entry ${noted.seq}, which was noted` }
  return { ok: true, entries: head.seq, head, unkeyed: Math.min(chain?.after.seq ?? head.seq, head.seq) }
}
