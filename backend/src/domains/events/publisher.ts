/**
 * Numbers events after their commit and publishes them; also adds audit entries to the hash chain.
 * An advisory lock allows one publisher at a time. Numbers assigned at insert would become visible
 * out of order, and a resuming reader would miss late events with smaller numbers.
 */
import type { Insertable } from 'kysely'
import { isDatabaseAway } from '../../causes/causes.ts'
import { inTransaction, notify, tryLock, type Tx } from '../../db/db.ts'
import type { Tables } from '../../db/tables.gen.ts'
import { system } from '../../http/caller.ts'
import type { Platform } from '../../platform.ts'
import { recorded } from '../../excerpt.ts'
import { auditOf } from '../../record.ts'
import type { Publisher } from './api.ts'
import { type AuditFields, beginChain, type Chain, keyedHash, openChain } from './chain.ts'
import { nextOfOutbox } from './store-outbox.ts'

const outboxChannel = 'steelyard_outbox'
export const eventChannel = 'steelyard_event'
const batch = 500
/** Bytes of audit entries that are published at once. */
const batchBytes = 16 * 1024 * 1024
/**
 * The publisher also runs at the notification of each new row and after each reconnection. The poll
 * finds rows whose notification was lost.
 */
const pollMs = 3_000
const headHashMs = 60_000

/** The audit entry that records that all later hashes are computed with a key. */
const keyedFrom = (at: Date, { after }: Chain): AuditFields => {
  const target = { kind: 'installation', id: '' }
  const entry = auditOf(system, {
    action: 'audit.keyed',
    target,
    after: { unkeyed_entries: after.seq, head: after.hash },
  })
  return { ...entry, at: at.toISOString(), target_kind: null, target_id: null }
}

/** What an older version wrote into the outbox may have large texts. */
const shortOf = ({ before, after }: AuditFields): Pick<AuditFields, 'before' | 'after'> => ({
  before: typeof before === 'object' && before !== null ? recorded(before) : before,
  after: typeof after === 'object' && after !== null ? recorded(after) : after,
})

export function publisher({
  db,
  clock,
  listener,
  log,
  vault,
}: Pick<Platform, 'db' | 'clock' | 'listener' | 'log' | 'vault'>): Publisher {
  let known: { readonly sealed: Uint8Array; readonly chain: Chain } | undefined

  /**
   * The key of the chain. It is generated when the first entry is chained; older entries keep their
   * unkeyed hashes.
   */
  const chainOf = async (
    tx: Tx,
    head: { chain_sealed: Uint8Array | null; last_audit: number; last_hash: string },
  ): Promise<Chain> => {
    if (head.chain_sealed && known && Buffer.compare(known.sealed, head.chain_sealed) === 0)
      return known.chain
    if (head.chain_sealed) {
      const chain = await openChain(vault, tx, head.chain_sealed)
      known = { sealed: head.chain_sealed, chain }
      return chain
    }
    const { chain, sealed } = await beginChain(vault, tx, {
      seq: head.last_audit,
      hash: head.last_hash,
    })
    await tx.updateTable('publication').set({ chain_sealed: sealed }).execute()
    return chain
  }

  const publishBatch = async (tx: Tx): Promise<number> => {
    // The lock is held until the transaction ends. A process that doesn't get the lock leaves the
    // work to the process that holds it.
    if (!(await tryLock(tx, 'steelyard publisher'))) return 0
    const waiting = await nextOfOutbox(tx, { batch, batchBytes })
    if (waiting.length === 0) return 0
    const head = await tx
      .selectFrom('publication')
      .selectAll()
      .forUpdate()
      .executeTakeFirstOrThrow()
    let { last_event: event, last_audit: seq, last_hash: hash } = head
    const audits: Insertable<Tables['audit_entry']>[] = []
    const events = []
    const chain = waiting.some((row) => row.audit) ? await chainOf(tx, head) : undefined
    const add = (at: Date, given: AuditFields) => {
      const entry = { ...given, ...shortOf(given) }
      seq += 1
      const previous_hash = hash
      hash = keyedHash(chain!.key, previous_hash, seq, entry)
      const { before, after, ...plain } = entry
      audits.push({
        ...plain,
        at,
        seq,
        previous_hash,
        hash,
        before: before === null ? null : JSON.stringify(before),
        after: after === null ? null : JSON.stringify(after),
      })
    }
    // This entry is written only once per installation. A second one means that somebody has
    // removed the key.
    if (chain && head.chain_sealed === null && head.last_audit > 0)
      add(new Date(clock.now()), keyedFrom(new Date(clock.now()), chain))
    for (const row of waiting) {
      if (row.audit)
        add(row.at, { at: row.at.toISOString(), ...(row.audit as Omit<AuditFields, 'at'>) })
      if (row.event) {
        event += 1
        const { name, scope, data } = row.event as {
          name: string
          scope: string | null
          data: object
        }
        events.push({ id: event, at: row.at, name, scope, data: JSON.stringify(data) })
      }
    }
    if (audits.length > 0) await tx.insertInto('audit_entry').values(audits).execute()
    if (events.length > 0) await tx.insertInto('event').values(events).execute()
    const ids = waiting.map((w) => w.id)
    await tx.deleteFrom('outbox').where('id', 'in', ids).execute()
    await tx
      .updateTable('publication')
      .set({ last_event: event, last_audit: seq, last_hash: hash })
      .execute()
    if (events.length > 0) await notify(tx, eventChannel, String(event))
    return waiting.length
  }

  const publish = async (): Promise<number> => {
    for (let all = 0; ;) {
      // Most polls find nothing, and a transaction takes four round trips.
      if (!(await db.selectFrom('outbox').select('id').limit(1).executeTakeFirst())) return all
      const count = await inTransaction(db, publishBatch)
      if (count === 0) return all
      all += count
    }
  }

  const stop = new AbortController()
  let wake: () => void = () => undefined
  let loop: Promise<void> = Promise.resolve()
  let logged = { at: 0, seq: 0 }

  const logHead = async (): Promise<void> => {
    if (clock.now() - logged.at < headHashMs) return
    const { last_audit: seq, last_hash: hash } = await db
      .selectFrom('publication')
      .selectAll()
      .executeTakeFirstOrThrow()
    // The head of the chain is also written to the program's log: an attacker who rewrites the
    // chain in the database can't rewrite the log.
    if (seq > logged.seq) log.info('audit.head', { seq, hash })
    logged = { at: clock.now(), seq }
  }

  const run = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      const woken = new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, pollMs)
        wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
      try {
        await publish()
        await logHead()
      } catch (error) {
        if (!isDatabaseAway(error)) log.error('publisher.failed', { error })
      }
      await woken
    }
  }

  let unlisten: () => void = () => undefined
  return {
    publish,
    start() {
      unlisten = listener.on(outboxChannel, () => wake())
      loop = run()
    },
    async stop() {
      stop.abort()
      unlisten()
      wake()
      await loop
      // Publishes what the last requests have written, before the process ends.
      await publish().catch(() => undefined)
    },
  }
}
