/** The journal of effects: records intents before acts outside of the database, so that they are known after a crash. */
import { sql } from 'kysely'
import type { Clock } from '../clock.ts'
import type { Fence, Taken } from './engine.ts'
import type { Failpoint } from './failpoint.ts'

export interface EffectInfo {
  /** Counts from 1 for the effect's name. */
  readonly attempt: number
  /** An earlier attempt has no recorded end, so it may have happened. Check before repeating it. */
  readonly unknown: boolean
  /** An earlier attempt succeeded. */
  readonly done: boolean
}

export interface RunEffect<T> {
  readonly taken: Taken
  readonly fence: Fence
  readonly name: string
  readonly act: (info: EffectInfo) => Promise<T>
  readonly clock: Clock
  readonly failpoint: Failpoint
}

/** Writes the intent, runs `act`, writes the end; both writes are fenced. Errors of `act` are journalled and rethrown. */
export async function runEffect<T>({ taken, fence, name, act, clock, failpoint }: RunEffect<T>): Promise<T> {
  const at = () => new Date(clock.now())
  const { queue, key } = taken
  const info = await fence.write(async (tx): Promise<EffectInfo> => {
    const before = await tx
      .selectFrom('effect')
      .select(['done_at', 'failed_at'])
      .where('queue', '=', queue)
      .where('key', '=', key)
      .where('name', '=', name)
      .executeTakeFirst()
    const begun = { fence: taken.fence, intent_at: at(), done_at: null, failed_at: null, error: null }
    const { attempts } = await tx
      .insertInto('effect')
      .values({ queue, key, name, attempts: 1, ...begun })
      .onConflict((c) => c.columns(['queue', 'key', 'name']).doUpdateSet({ ...begun, attempts: sql<number>`effect.attempts + 1` }))
      .returning('attempts')
      .executeTakeFirstOrThrow()
    return { attempt: attempts, unknown: before !== undefined && before.done_at === null && before.failed_at === null, done: before?.done_at != null }
  })
  const end = (how: { done_at: Date } | { failed_at: Date; error: string }) =>
    fence.write((tx) => tx.updateTable('effect').set(how).where('queue', '=', queue).where('key', '=', key).where('name', '=', name).execute())
  failpoint.reach(name, 'before')
  let result: T
  try {
    result = await act(info)
  } catch (error) {
    await end({ failed_at: at(), error: error instanceof Error ? error.message : String(error) })
    throw error
  }
  failpoint.reach(name, 'after')
  await end({ done_at: at() })
  return result
}
