/**
 * Runs that ended their process: a crash, a kill, no memory left. A run that kills Steelyard would
 * do so after each restart, and a kill from outside looks the same.
 *
 * An end counts against an object only if its run was the only one of the process. Where several
 * ran, each is a suspect: after the restart the suspects run one at a time, and nothing else runs
 * meanwhile for a moment that grows with each such end. So a run that ends its process is soon found
 * alone, and innocent ones go on.
 *
 * An object that ended its process three times in a row alone, at the same place, is halted if an
 * open operation carries it. It is tried again after ten minutes, then once an hour, and at once if
 * a user resumes it. Meanwhile it is a finding. Objects that no operation carries pause.
 *
 * An end is a run that its process neither ended nor reported: the process has started again, or its
 * lease has expired. The second is uncertain: a process that was suspended or cut off from the
 * database still lives, and takes its count back. Any ended run clears the counts, also a failed
 * one, a shutdown and a lost database connection; an end after further effects counts as the first.
 * Everything is counted in the transaction that frees the object, so an end of that process changes
 * nothing.
 */
import { type RawBuilder, sql } from 'kysely'
import type { Db, Tx } from '../db/db.ts'
import type { Work } from './job.ts'

/** After this many ends alone in a row an object is halted, or runs only once in `crashedPauseMs`. */
const mostCrashes = 3
/**
 * Pause after repeated ends of an object that no operation carries, in ms: meanwhile the program
 * does everything else.
 */
const crashedPauseMs = 60_000
/** When a halted object is tried first and again, after it was halted. */
const firstTry = sql`interval '10 minutes'`
const nextTry = sql`interval '1 hour'`

const firstAloneMs = 5_000
const longestAloneMs = 120_000
/** How long a suspect runs before other runs begin beside it, in ms. */
export const aloneMs = (suspicions: number): number =>
  Math.min(longestAloneMs, firstAloneMs * 4 ** Math.min(9, Math.max(0, suspicions - 1)))
/** How long a process waits until its other runs have ended before it runs a suspect, in ms. */
export const drainMs = 10_000

/** Shown at the operation, its step and the finding. */
export const haltedSentence =
  'Steelyard ended three times in a row while it worked on nothing but this, so it waits: it tries again after ten minutes, then once an hour. The log of Steelyard may say why. Resume the operation to try at once, or cancel it and then resume it to end it'

/** How far the effects of the object `w` have come: the last one, and whether it has ended. */
const mark = sql<
  string | null
>`(select e.name || case when e.done_at is null and e.failed_at is null then ' begun' else ' ended' end
  from effect e where e.queue = w.queue and e.key = w.key order by e.intent_at desc, e.name limit 1)`
const crashes = sql<number>`case when w.crash_mark is not distinct from ${mark} then w.crashes + 1 else 1 end`

/**
 * Whether the run of a row `l` of `wake_up` was the only one of its process. Runs that were freed
 * before, by another sweep, are known by `crashed_instance`.
 */
export const wasAlone = sql<boolean>`(select count(*) from wake_up o
  where (o.owner = l.owner and o.instance is not distinct from l.instance) or o.crashed_instance = l.instance) = 1`

/**
 * Columns of a row `w` of `wake_up` that is freed. `isCounted`: its run ended with its process.
 * `isAlone`: the process had no other run.
 */
export const freed = (
  isCounted: RawBuilder<boolean>,
  isAlone: RawBuilder<boolean>,
): RawBuilder<unknown> => {
  const counted = sql<boolean>`(${isCounted} and ${isAlone})`
  return sql`
  owner = null, beat_at = null,
  due_at = case when ${counted} and ${crashes} >= ${mostCrashes} then now() + ${`${crashedPauseMs} milliseconds`}::interval else least(w.due_at, now()) end,
  crashes = case when ${counted} then ${crashes} else w.crashes end,
  crash_mark = case when ${counted} then ${mark} else w.crash_mark end,
  suspicions = case when ${isCounted} and not ${isAlone} then w.suspicions + 1 else w.suspicions end,
  crashed_fence = case when ${isCounted} then w.fence else w.crashed_fence end,
  crashed_instance = case when ${isCounted} then w.instance else w.crashed_instance end,
  crashed_alone = case when ${isCounted} then ${isAlone} else w.crashed_alone end,
  trying = w.trying and not ${isCounted}`
}

/** What a run that has ended clears. */
export const cleared = sql`crashes = 0, crash_mark = null, suspicions = 0, retry_at = null, trying = false`

/** What lets a halted object go on as if it had never been halted. */
const goOn = sql`${cleared}, halted_at = null, failures = 0, last_error = null, due_at = now()`

/**
 * Halts the objects with repeated ends that an open operation carries, lets those try again whose
 * time has come, and lets those go on whose operation has ended.
 * @param carried whether an open operation carries the object `w`
 * @returns the objects that were halted now for the first time, and whether any object is halted
 */
export async function halt(
  tx: Tx,
  carried: RawBuilder<boolean>,
): Promise<{ halted: readonly Work[]; isAny: boolean }> {
  const { rows } = await sql<Work & { isFirst: boolean }>`
    update wake_up w set halted_at = now(), failures = greatest(failures, 1), last_error = ${haltedSentence},
      retry_at = now() + case when retry_at is null then ${firstTry} else ${nextTry} end
    where crashes >= ${mostCrashes} and owner is null and halted_at is null and not trying and ${carried}
    returning queue, key, retry_at < now() + ${nextTry} / 2 as "isFirst"`.execute(tx)
  await sql`update wake_up w set ${goOn} where halted_at is not null and not ${carried}`.execute(tx)
  // Alone, like a suspect.
  await sql`
    update wake_up set halted_at = null, trying = true, suspicions = greatest(suspicions, 1), due_at = now()
    where halted_at is not null and retry_at <= now()`.execute(tx)
  const { rows: left } =
    await sql`select from wake_up where halted_at is not null or crashes >= ${mostCrashes} limit 1`.execute(
      tx,
    )
  return {
    halted: rows.flatMap(({ isFirst, ...work }) => (isFirst ? [work] : [])),
    isAny: left.length > 0,
  }
}

/** Lets halted objects run again. Returns whether any of them was halted. */
export async function resumeHalted(tx: Tx, objects: readonly Work[]): Promise<boolean> {
  const { rows } = await sql`
    update wake_up w set ${goOn}
    from json_to_recordset(${JSON.stringify(objects)}) as o (queue text, key text)
    where w.queue = o.queue and w.key = o.key and w.halted_at is not null returning w.key`.execute(
    tx,
  )
  return rows.length > 0
}

/** The objects that are halted, or are tried again after that. */
export const haltedObjects = (on: Db | Tx): Promise<Work[]> =>
  on
    .selectFrom('wake_up')
    .select(['queue', 'key'])
    .where('retry_at', 'is not', null)
    .orderBy('queue')
    .orderBy('key')
    .execute()

/** The suspect that is due for longest. */
export async function dueSuspect(db: Db): Promise<(Work & { suspicions: number }) | undefined> {
  const { rows } = await sql<Work & { suspicions: number }>`
    select queue, key, suspicions from wake_up
    where suspicions > 0 and owner is null and halted_at is null and due_at <= now() order by due_at, queue, key limit 1`.execute(
    db,
  )
  return rows[0]
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
    update wake_up set
      crashes = case when crashed_alone then greatest(crashes - 1, 0) else crashes end,
      suspicions = case when crashed_alone then suspicions else greatest(suspicions - 1, 0) end,
      crashed_fence = null, crashed_instance = null, halted_at = null, retry_at = null, trying = false,
      due_at = case when halted_at is null then due_at else now() end
    where queue = ${queue} and key = ${key} and crashed_fence = ${fence}`.execute(db)
