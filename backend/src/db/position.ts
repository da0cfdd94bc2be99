/**
 * How far the database has got: the highest event number, and the head of the audit log. A database
 * that has less than this process has seen went back in time, for example because a standby without
 * the newest writes was promoted. Steelyard would then act on machines from an older state, so
 * nothing is written before everything is held, as after a restore (`backup/settle.ts`).
 */
import { chmodSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { ClientBase, Pool } from 'pg'
import * as z from 'zod/mini'
import { minuteOf } from '#contract/words.ts'

export const Position = z.object({
  /** The installation's id: the position of another database says nothing about this one. */
  installation: z.uuid(),
  event: z.int(),
  audit: z.int(),
  /** The hash of the audit entry `audit`; empty if there is none. */
  hash: z.string(),
  /** ISO 8601 time of the last restore; null if there was none. */
  restored_at: z.nullable(z.string()),
})
export type Position = z.infer<typeof Position>

/** What was published and is missing: from and to are included. */
export interface Missing {
  readonly events: { readonly from: number; readonly to: number } | null
  readonly audit_entries: { readonly from: number; readonly to: number } | null
}

/** The position in the database, as one row that `positionOf` reads. */
const askPosition = `select i.id as installation, p.last_event as event, p.last_audit as audit, p.last_hash as hash, r.restored_at
  from publication p cross join installation i left join restoration r on true`

interface PositionRow extends Omit<Position, 'restored_at'> {
  readonly restored_at: Date | null
}
const positionOf = ({ restored_at, ...row }: PositionRow): Position => ({
  ...row,
  restored_at: restored_at?.toISOString() ?? null,
})

export const readPosition = async (on: Pool | ClientBase): Promise<Position> =>
  positionOf((await on.query<PositionRow>(askPosition)).rows[0]!)

/** The hash of an audit entry, as one row with `hash`; no row if there is no such entry. */
const askHash = 'select hash from audit_entry where seq = $1'

const from = (present: number, seen: number) =>
  present < seen ? { from: present + 1, to: seen } : null

/** A database whose last restore is an earlier one than was seen, or that has none, went back. */
const isLater = (now: Position['restored_at'], seen: Position['restored_at']): boolean =>
  now !== null && (seen === null || Date.parse(now) > Date.parse(seen))

/**
 * What the database lacks of what was seen; null if nothing. A database that was restored since, or
 * that belongs to another installation, lacks nothing: the restore has held everything.
 * @param hashAtSeen the hash that the database has at `seen.audit`; null if it has no such entry.
 *   Entries written since can have the same numbers as the missing ones.
 */
function missingOf(seen: Position, now: Position, hashAtSeen: string | null): Missing | null {
  if (seen.installation !== now.installation || isLater(now.restored_at, seen.restored_at))
    return null
  const events = from(now.event, seen.event)
  const isOther = seen.audit > 0 && hashAtSeen !== seen.hash
  const audit_entries =
    from(now.audit, seen.audit) ?? (isOther ? from(seen.audit - 1, seen.audit) : null)
  return events === null && audit_entries === null ? null : { events, audit_entries }
}

/** The position of the database, and what it lacks of what was seen. */
export async function comparePosition(
  client: ClientBase,
  seen: Position,
): Promise<{ readonly now: Position; readonly missing: Missing | null }> {
  const { rows } = await client.query<{ hash: string }>(askHash, [seen.audit])
  const now = await readPosition(client)
  return { now, missing: missingOf(seen, now, rows[0]?.hash ?? null) }
}

const range = (
  { from: first, to: last }: { from: number; to: number },
  one: string,
  many: string,
): string => (first === last ? `${one} ${first}` : `${many} ${first} to ${last}`)

/** "events 10412 to 10475 and audit entry 93" */
export const missingSentence = ({ events, audit_entries: entries }: Missing): string =>
  [
    ...(events ? [range(events, 'event', 'events')] : []),
    ...(entries ? [range(entries, 'audit entry', 'audit entries')] : []),
  ].join(' and ')

/** "The database went back to 2026-11-20 14:02 UTC and lacks event 7", with a `missingSentence`. */
export const wentBackSentence = (to: Date, missing: string): string =>
  `The database went back to ${minuteOf(to)} and lacks ${missing}`

const fileName = 'database-position'

/** Keeps the highest position in the data folder, for the next start. */
export function positionFile(dataFolder: string) {
  const file = path.join(dataFolder, fileName)
  return {
    /** Undefined: there is none, or it can't be read. */
    read(): Position | undefined {
      try {
        return z.parse(Position, JSON.parse(readFileSync(file, 'utf8')))
      } catch {
        return undefined
      }
    },
    /** Replaced as a whole, so that a crash leaves the former one. */
    write(position: Position): void {
      const next = `${file}.next`
      rmSync(next, { force: true })
      writeFileSync(next, `${JSON.stringify(position)}\n`, { mode: 0o600 })
      chmodSync(next, 0o600)
      renameSync(next, file)
    },
  }
}
