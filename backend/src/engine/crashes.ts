/**
 * Runs that ended their process: a crash, a kill, no memory left. A run that kills Steelyard would
 * do so after each restart. So an object whose run ended the process twice in a row, at the same
 * place, isn't run a third time if an open operation carries it: it is halted until a user resumes
 * it.
 *
 * Counted is a run that its process neither ended nor reported: the process has started again, or
 * its lease has expired. The second is uncertain: a process that was suspended or cut off from the
 * database still lives, and takes its count back. Any ended run clears the count, also a failed
 * one, a shutdown and a lost database connection; a crash after further effects counts as the
 * first. A kill from outside looks like a crash; at worst the user resumes what was innocent.
 */
import { type RawBuilder, sql } from 'kysely'
import type { Db, Tx } from '../db/db.ts'
import type { Work } from './job.ts'

/** After this many crashes in a row an object is halted, or runs only once in `crashedPauseMs`. */
const mostCrashes = 2
/**
 * Pause after repeated crashes of an object that no operation carries, in ms: meanwhile the program
 * does everything else.
 */
const crashedPauseMs = 60_000

/** Shown at the operation and its step. */
export const haltedSentence =
  'Steelyard ended twice in a row while it worked on this, so it does not try a third time by itself. The log of Steelyard may say why. Resume the operation to try again, or cancel it and then resume it to end it'

/** How far the effects of the object `w` have come: the last one, and whether it has ended. */
const mark = sql<
  string | null
>`(select e.name || case when e.done_at is null and e.failed_at is null then ' begun' else ' ended' end
  from effect e where e.queue = w.queue and e.key = w.key order by e.intent_at desc, e.name limit 1)`
const crashes = sql<number>`case when w.crash_mark is not distinct from ${mark} then w.crashes + 1 else 1 end`

/**
 * Columns of a row `w` of `wake_up` that is freed. `isCounted`: its run counts as one that ended
 * its process.
 */
export const freed = (isCounted: RawBuilder<boolean>): RawBuilder<unknown> => sql`
  owner = null, beat_at = null,
  due_at = case when ${isCounted} and ${crashes} >= ${mostCrashes} then now() + ${`${crashedPauseMs} milliseconds`}::interval else least(w.due_at, now()) end,
  crashes = case when ${isCounted} then ${crashes} else w.crashes end,
  crash_mark = case when ${isCounted} then ${mark} else w.crash_mark end,
  crashed_fence = case when ${isCounted} then w.fence else w.crashed_fence end`

/**
 * Halts the objects with repeated crashes that an open operation carries, and lets those go on
 * whose operation has ended.
 * @param carried whether an open operation carries the object `w`
 * @returns the objects that were halted now, and whether any object is halted
 */
export async function halt(
  tx: Tx,
  carried: RawBuilder<boolean>,
): Promise<{ halted: readonly Work[]; isAny: boolean }> {
  const { rows } = await sql<Work>`
    update wake_up w set halted_at = now(), failures = greatest(failures, 1), last_error = ${haltedSentence}
    where crashes >= ${mostCrashes} and owner is null and halted_at is null and ${carried} returning queue, key`.execute(
    tx,
  )
  await sql`
    update wake_up w set halted_at = null, crashes = 0, crash_mark = null, failures = 0, last_error = null, due_at = now()
    where halted_at is not null and not ${carried}`.execute(tx)
  const { rows: left } = await sql`select from wake_up where halted_at is not null limit 1`.execute(
    tx,
  )
  return { halted: rows, isAny: left.length > 0 }
}

/** Lets halted objects run again. Returns whether any of them was halted. */
export async function resumeHalted(tx: Tx, objects: readonly Work[]): Promise<boolean> {
  const { rows } = await sql`
    update wake_up w set halted_at = null, crashes = 0, crash_mark = null, failures = 0, last_error = null, due_at = now()
    from json_to_recordset(${JSON.stringify(objects)}) as o (queue text, key text)
    where w.queue = o.queue and w.key = o.key and w.halted_at is not null returning w.key`.execute(
    tx,
  )
  return rows.length > 0
}

/**
 * Called by a process that still lives, if another one has taken over its object: the run didn't
 * end the process.
 */
export const takeBack = (
  db: Db,
  { queue, key, fence }: Work & { readonly fence: number },
): Promise<unknown> =>
  sql`
    update wake_up set crashes = greatest(crashes - 1, 0), crashed_fence = null, halted_at = null,
      due_at = case when halted_at is null then due_at else now() end
    where queue = ${queue} and key = ${key} and crashed_fence = ${fence}`.execute(db)
