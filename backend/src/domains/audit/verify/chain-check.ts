/** Verifies the hash chain of the audit log: detects edited, removed, added and moved entries. */
import type { AuditCheck, AuditHead } from '#contract/audit.ts'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Db, Tx } from '../../../db/db.ts'
import { SealBroken } from '../../../vault/cipher.ts'
import { type AuditFields, type Chain, keyedHash, unkeyedHash } from '../../events/api.ts'
import type { ChainVerdict } from '../api.ts'
import * as store from '../store.ts'

/** The verdict as the API returns it. */
export const checkOf = (
  verdict: ChainVerdict,
): Extract<AuditCheck, { state: 'intact' | 'broken' }> =>
  verdict.ok
    ? {
        state: 'intact',
        entries: verdict.entries,
        unkeyed: verdict.unkeyed,
        head: verdict.entries === 0 ? null : `${verdict.head.hash}@${verdict.head.seq}`,
      }
    : { state: 'broken', seq: verdict.seq, reason: verdict.reason }

export interface ChainCheck {
  /** Decrypts the chain's key. @throws SealBroken */
  readonly open: (tx: Tx, sealed: Uint8Array) => Promise<Chain>
  /** An entry that was recorded elsewhere; the chain must contain it. */
  readonly noted?: AuditHead | undefined
  /** Called after each batch. `of`: the number of entries when the check began. */
  readonly progress?: (checked: number, of: number) => void
}

const wasChanged = 'was changed'

/** The hashed part of an entry: every column except its number and the hashes. */
const fields = ({
  seq: _seq,
  hash: _hash,
  previous_hash: _previous,
  at,
  ...rest
}: store.AuditRow): AuditFields => ({ ...rest, at: at.toISOString() })

/** Verifies the whole chain in one database snapshot. */
export const checkChain = (db: Db, check: ChainCheck): Promise<ChainVerdict> =>
  db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute((tx) => verify(tx, check))

async function verify(tx: Tx, { open, noted, progress }: ChainCheck): Promise<ChainVerdict> {
  const written = await store.head(tx)
  let chain: Chain | undefined
  try {
    chain = written.chain_sealed ? await open(tx, written.chain_sealed) : undefined
  } catch (error) {
    if (!(error instanceof SealBroken)) throw error
    return {
      ok: false,
      seq: 1,
      reason: `can't be checked, because the key of the chain can't be opened: ${error.message}`,
    }
  }
  const hashOf = (previous: string, row: store.AuditRow) =>
    chain && row.seq > chain.after.seq
      ? keyedHash(chain.key, previous, row.seq, fields(row))
      : unkeyedHash(previous, row.seq, fields(row))
  const mustBe = new Map<number, { hash: string; reason: string }>()
  if (noted)
    mustBe.set(noted.seq, {
      hash: noted.hash,
      reason: 'has another hash than the recorded one: this entry or an earlier one was rewritten',
    })
  if (chain && !mustBe.has(chain.after.seq))
    mustBe.set(chain.after.seq, { hash: chain.after.hash, reason: wasChanged })
  let head: AuditHead = { seq: 0, hash: '' }
  for (;;) {
    let read = 0
    for await (const row of store.from(tx, head.seq)) {
      read += 1
      if (row.seq !== head.seq + 1) return { ok: false, seq: head.seq + 1, reason: 'is missing' }
      if (row.previous_hash !== head.hash || row.hash !== hashOf(head.hash, row))
        return { ok: false, seq: row.seq, reason: wasChanged }
      const known = mustBe.get(row.seq)
      if (known && known.hash !== row.hash) return { ok: false, seq: row.seq, reason: known.reason }
      head = { seq: row.seq, hash: row.hash }
    }
    progress?.(head.seq, Math.max(written.last_audit, head.seq))
    if (read === 0) break
    // A slice may take long to hash, and the program may have other work on this thread.
    await nextTurn()
  }
  const last = Math.max(written.last_audit, chain?.after.seq ?? 0)
  if (head.seq < last) return { ok: false, seq: head.seq + 1, reason: 'is missing' }
  if (head.seq > last) return { ok: false, seq: last + 1, reason: 'was not added by Steelyard' }
  if (head.hash !== written.last_hash)
    return { ok: false, seq: head.seq, reason: 'is not the last entry that was recorded' }
  if (noted && noted.seq > head.seq)
    return {
      ok: false,
      seq: head.seq + 1,
      reason: `is missing, and so are all up to entry ${noted.seq}, which was noted`,
    }
  return {
    ok: true,
    entries: head.seq,
    head,
    unkeyed: Math.min(chain?.after.seq ?? head.seq, head.seq),
  }
}
