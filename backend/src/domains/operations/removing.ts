/** Removes old operations, with their steps and all that belongs to them, in slices. */
import { Problem } from '#contract/errors.ts'
import { counted } from '#contract/words.ts'
import { inTransaction, tryLock } from '../../db/db.ts'
import type { OperationParts } from './present.ts'
import * as store from './store-old.ts'

const dayMs = 24 * 3_600_000
/** Operations that are looked at in one transaction. */
const slice = 200
/** Longer than the answer to a request is kept for its idempotency key, which may name one. */
const fewestDays = 2

/** How many days after its end an operation is kept: as long as the history. */
const keptDays = ({ config }: Pick<OperationParts, 'config'>): number =>
  Math.max(fewestDays, config.historyDays)

/** An old link may name one that was removed. */
export const unknownOperation = (parts: Pick<OperationParts, 'config'>): Problem =>
  new Problem(
    'not_found',
    `There is no such operation. An operation may be removed ${counted(keptDays(parts), 'day')} after its end`,
  )

/**
 * Removes the operations and the effects whose end is older than the history, and that nobody needs.
 * Each slice is a transaction of its own, so a process that ends meanwhile leaves nothing half
 * removed, and the next run goes on. Returns their numbers.
 */
export async function removeOld(
  parts: Pick<OperationParts, 'db' | 'clock' | 'config' | 'engine'>,
): Promise<{ readonly operations: number; readonly effects: number }> {
  const endedBefore = new Date(parts.clock.now() - keptDays(parts) * dayMs)
  let operations = 0
  for (let after: store.Place | null = null; ;) {
    const of: store.Slice = { endedBefore, after, limit: slice }
    const one: store.RemovedSlice | null = await inTransaction(parts.db, async (tx) =>
      // Another process removes the same operations.
      (await tryLock(tx, 'steelyard old operations')) ? store.removeSlice(tx, of) : null,
    )
    operations += one?.removed ?? 0
    if (one === null || one.read < slice) break
    after = one.last
  }
  return { operations, effects: await parts.engine.removeOldEffects(endedBefore) }
}
