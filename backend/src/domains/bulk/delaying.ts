/** Servers of a bulk act that are refused only for now: the act waits for them within a limit. */
import type { Problem } from '#contract/errors.ts'
import { waitLimits } from '#contract/rule.ts'
import { bulkStep } from '#contract/servers/bulk.ts'
import type { TalosError } from '#talos/client/errors.ts'
import { isForNow } from '../../for-now.ts'
import type { BulkParts } from './parts.ts'
import { type Item, notBegun, type Turn } from './turn.ts'

/** How many delayed servers a run looks at before others get their turn. */
const looksAtOnce = 50
/** How often the delayed servers that a run looks at change, in ms. */
const turnMs = 5_000

/**
 * The servers that are begun or untouched in their order, then those that are delayed, beginning
 * with other ones in each run, so that many silent servers hold up nobody.
 */
export function inTurn({ job, operation, act }: Turn, lane: readonly Item[]): readonly Item[] {
  const waiting = new Set(
    operation.steps.flatMap(({ key, status }) => (status === 'waiting' ? [key] : [])),
  )
  const isDelayedOne = (one: Item): boolean =>
    one.begun_id === null && waiting.has(bulkStep(act.kind, one.server_id))
  const delayed = lane.filter(isDelayedOne)
  const from = (Math.floor(job.now() / turnMs) * looksAtOnce) % Math.max(1, delayed.length)
  return [
    ...lane.filter((one) => !isDelayedOne(one)),
    ...delayed.slice(from),
    ...delayed.slice(0, from),
  ]
}

/**
 * Whether these servers, which the act begins together, wait for the end of the refusal: then their
 * steps say for what and how long. A final refusal, and one that has lasted too long, ends them.
 */
export async function isDelayed(
  { operations }: Pick<BulkParts, 'operations'>,
  { job, operation, act }: Turn,
  items: readonly Item[],
  error: Problem | TalosError,
): Promise<boolean> {
  const keys = items.map((one) => bulkStep(act.kind, one.server_id))
  const of = { operationId: operation.id, step: keys[0]! }
  const wait = isForNow(error)
    ? await operations.patience(job, of, { reason: error.message, limitMs: waitLimits.bulk })
    : null
  const waits = wait !== null && !wait.isOver
  const change =
    wait === null
      ? notBegun(error)
      : ({ status: wait.isOver ? 'failed' : 'waiting', reason: wait.sentence } as const)
  await job.fence.write(async (tx) => {
    if (waits)
      await operations.delayed(tx, of, { reason: error.message, since: new Date(job.now()) })
    await operations.steps(
      tx,
      operation.id,
      keys.map((key) => ({ key, ...change })),
    )
  })
  return waits
}
