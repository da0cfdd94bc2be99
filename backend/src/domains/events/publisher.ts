/**
 * Numbers what was committed and hands it on. One publisher at a time, by an advisory lock: a sequence taken at insert would become visible out of
 * order, and a reader who resumes after a number would miss what came in late with a smaller one. The same pass chains the audit log.
 */
import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import type { Clock } from '../../clock.ts'
import { type Db, inTransaction, isDatabaseGone, type Tx } from '../../db/db.ts'
import type { Listener } from '../../db/listen.ts'
import type { Log } from '../../log.ts'

const outboxChannel = 'steelyard_outbox'
export const eventChannel = 'steelyard_event'
const batch = 500
const pollMs = 1_000
const headHashMs = 60_000

export interface AuditFields {
  readonly at: string
  readonly action: string
  readonly outcome: string
  readonly actor_kind: string
  readonly actor_id: string | null
  readonly actor_name: string
  readonly session_id: string | null
  readonly ip: string | null
  readonly request_id: string | null
  readonly target_kind: string | null
  readonly target_id: string | null
  readonly target_name: string | null
  readonly before: unknown
  readonly after: unknown
}

/** JSON with the keys of every object in order, so that the same entry always gives the same text (after RFC 8785). */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const fields = Object.entries(value).filter(([, inner]) => inner !== undefined)
  return `{${fields
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, inner]) => `${JSON.stringify(key)}:${canonical(inner)}`)
    .join(',')}}`
}

/** SHA-256, hex, over the entry with its number and the hash before it. */
export const chainHash = (previous: string, seq: number, entry: AuditFields): string =>
  createHash('sha256')
    .update(previous)
    .update('\n')
    .update(canonical({ seq, ...entry }))
    .digest('hex')

export interface Publisher {
  /** Publishes what waits; answers how much that was. Tests call it, `start` does by itself. */
  publish(): Promise<number>
  start(): void
  stop(): Promise<void>
}

export function publisher({ db, clock, listener, log }: { db: Db; clock: Clock; listener: Listener; log: Log }): Publisher {
  const publishBatch = async (tx: Tx): Promise<number> => {
    // Held to the end of the transaction; who doesn't get it leaves the work to the one who has it.
    const { rows } = await sql<{ mine: boolean }>`select pg_try_advisory_xact_lock(hashtextextended('steelyard publisher', 0)) as mine`.execute(tx)
    if (!rows[0]?.mine) return 0
    const waiting = await tx.selectFrom('outbox').selectAll().orderBy('id').limit(batch).execute()
    if (waiting.length === 0) return 0
    const head = await tx.selectFrom('publication').selectAll().forUpdate().executeTakeFirstOrThrow()
    let { last_event: event, last_audit: seq, last_hash: hash } = head
    const audits = []
    const events = []
    for (const row of waiting) {
      if (row.audit) {
        seq += 1
        const entry = { at: row.at.toISOString(), ...(row.audit as Omit<AuditFields, 'at'>) }
        const previous_hash = hash
        hash = chainHash(previous_hash, seq, entry)
        const { before, after, ...plain } = entry
        audits.push({
          ...plain,
          at: row.at,
          seq,
          previous_hash,
          hash,
          before: before === null ? null : JSON.stringify(before),
          after: after === null ? null : JSON.stringify(after),
        })
      }
      if (row.event) {
        event += 1
        const { name, scope, data } = row.event as { name: string; scope: string | null; data: object }
        events.push({ id: event, at: row.at, name, scope, data: JSON.stringify(data) })
      }
    }
    if (audits.length > 0) await tx.insertInto('audit_entry').values(audits).execute()
    if (events.length > 0) await tx.insertInto('event').values(events).execute()
    await tx
      .deleteFrom('outbox')
      .where(
        'id',
        'in',
        waiting.map((w) => w.id),
      )
      .execute()
    await tx.updateTable('publication').set({ last_event: event, last_audit: seq, last_hash: hash }).execute()
    if (events.length > 0) await sql`select pg_notify(${eventChannel}, ${String(event)})`.execute(tx)
    return waiting.length
  }

  const publish = async (): Promise<number> => {
    for (let all = 0; ;) {
      const count = await inTransaction(db, publishBatch)
      all += count
      if (count < batch) return all
    }
  }

  const stop = new AbortController()
  let wake: () => void = () => undefined
  let loop: Promise<void> = Promise.resolve()
  let logged = { at: 0, seq: 0 }

  const logHead = async (): Promise<void> => {
    if (clock.now() - logged.at < headHashMs) return
    const { last_audit: seq, last_hash: hash } = await db.selectFrom('publication').selectAll().executeTakeFirstOrThrow()
    // Outside the database as well: who rewrites the whole chain there can't rewrite the log.
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
        if (!isDatabaseGone(error)) log.error('publisher.failed', { error })
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
      // What the last requests wrote is told before the process goes.
      await publish().catch(() => undefined)
    },
  }
}
