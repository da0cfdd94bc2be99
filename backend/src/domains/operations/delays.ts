/**
 * How long operations wait for what is refused only for now (`contract/rule.ts`). The first such
 * refusal is stored, so that the limit counts over restarts. Time in which Steelyard didn't run
 * doesn't count.
 */
import { waitedText, waitingText } from '#contract/rule.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { Job } from '../../engine/engine.ts'
import type { Delay, Delayed, Patience } from './api.ts'

/** Key of an operation that has not begun, among the keys of its steps. */
export const whole = ''

export const delays = (db: Db) => {
  const delay = (on: Db | Tx, operationId: string, step: string): Promise<Delay | undefined> =>
    on
      .selectFrom('operation_delay')
      .select(['since', 'reason'])
      .where('operation_id', '=', operationId)
      .where('step', '=', step)
      .executeTakeFirst()

  return {
    delay,

    async patience(
      job: Pick<Job, 'now' | 'elapsedMs' | 'upMs'>,
      { operationId, step = whole }: Delayed,
      { reason, limitMs }: { readonly reason: string; readonly limitMs: number },
    ): Promise<Patience> {
      const known = await delay(db, operationId, step)
      const waited = known === undefined ? 0 : Math.min(job.elapsedMs(known.since), job.upMs())
      const until = new Date(job.now() + limitMs - waited)
      return waited < limitMs
        ? { isOver: false, sentence: waitingText(until, reason) }
        : { isOver: true, sentence: waitedText(limitMs, reason) }
    },

    /** Stores what is waited for. The first call counts for the limit. */
    async delayed(
      tx: Tx,
      { operationId, step = whole }: Delayed,
      { reason, since }: Delay,
    ): Promise<void> {
      await tx
        .insertInto('operation_delay')
        .values({ operation_id: operationId, step, since, reason })
        .onConflict((conflict) =>
          conflict.columns(['operation_id', 'step']).doUpdateSet({ reason }),
        )
        .execute()
    },

    /** Called when the waits have ended; without `steps` those of the whole operation. */
    async undelay(tx: Tx, operationId: string, steps?: readonly string[]): Promise<void> {
      await tx
        .deleteFrom('operation_delay')
        .where('operation_id', '=', operationId)
        .$if(steps !== undefined, (q) => q.where('step', 'in', [...steps!]))
        .execute()
    },
  }
}
