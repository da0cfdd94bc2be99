/** Removes old rows of the journal of effects (`README.md`). */
import { type RawBuilder, sql } from 'kysely'
import type { Tx } from '../db/db.ts'
import type { Work } from './job.ts'

type EffectKey = Work & { readonly name: string }

export interface EffectSlice {
  /** Effects that ended at or after this time stay. */
  readonly endedBefore: Date
  /** The last effect of the slice before; null for the first. */
  readonly after: EffectKey | null
  readonly limit: number
  /** Whether an open operation carries the row `w` of `wake_up`. */
  readonly carried: RawBuilder<boolean>
}

export interface RemovedEffects {
  /** How many effects were looked at. */
  readonly read: number
  readonly removed: number
  /** The last that was looked at. */
  readonly last: EffectKey | null
}

/**
 * Removes the effects of one slice that ended long ago. Those stay whose object is at work, fails,
 * has ended its process (`crashes.ts` reads how far its effects have come), or is carried by an open
 * operation, which may ask whether an effect was done. One without an end stays, because what it did
 * is unknown.
 */
export async function removeSlice(
  tx: Tx,
  { endedBefore, after, limit, carried }: EffectSlice,
): Promise<RemovedEffects> {
  const beyond =
    after === null
      ? sql`true`
      : sql`(queue, key, name) > (${after.queue}, ${after.key}, ${after.name})`
  const { rows: slice } = await sql<EffectKey>`
    select queue, key, name from effect where ${beyond} order by queue, key, name limit ${limit}`.execute(
    tx,
  )
  const { rows: removed } = await sql`
    delete from effect e using json_to_recordset(${JSON.stringify(slice)}) as s (queue text, key text, name text)
    where e.queue = s.queue and e.key = s.key and e.name = s.name
      and coalesce(e.done_at, e.failed_at) < ${endedBefore}
      and not exists (select from wake_up w where w.queue = e.queue and w.key = e.key
        and (w.owner is not null or w.failures > 0 or w.crashes > 0 or ${carried}))
    returning e.name`.execute(tx)
  return { read: slice.length, removed: removed.length, last: slice.at(-1) ?? null }
}
