/**
 * Sends the messages of a channel, one at a time. A message that doesn't arrive is sent again for a
 * day, with the same id. The attempt is journalled, so after a crash in its middle it is repeated:
 * a receiver may get a message twice, with the same id.
 */
import type { Tx } from '../../db/db.ts'
import type { Engine, Outcome as Again, Reconciler } from '../../engine/engine.ts'
import type { Platform } from '../../platform.ts'
import { wakeAlerts } from './api.ts'
import type { Content } from './message.ts'
import { attemptMs } from './outcome.ts'
import { type RefreshParts, refreshing } from './refreshing.ts'
import { send } from './sending.ts'
import * as deliveries from './store-deliveries.ts'
import * as store from './store.ts'

const queue = 'deliveries'

export const wakeDeliveries = (engine: Engine, tx: Tx, channelId: string): Promise<void> =>
  engine.wake(tx, queue, channelId)

/** A message is given up after this time, in ms. */
export const keepTryingMs = 24 * 3_600_000
/** Waits between attempts, in ms; the last one is repeated. */
const waitsMs = [5_000, 30_000, 120_000, 300_000, 600_000, 1_200_000, 1_800_000, 3_600_000]
/** The last attempt may be this late, in ms, if Steelyard didn't run at its time. */
const mostLateMs = 3_600_000
const tooOld = 'It waited for more than a day, so it is not sent any more'

/** When a message is sent again after so many attempts; null: it is given up. */
export function nextAttempt(
  attempts: number,
  { at, expires }: { at: Date; expires: Date },
): Date | null {
  const waitMs = waitsMs[Math.min(attempts, waitsMs.length) - 1]!
  const next = new Date(at.getTime() + waitMs)
  if (next < expires) return next
  // One last attempt at the end of the day.
  return at < expires ? expires : null
}

export function delivering(parts: RefreshParts & Pick<Platform, 'engine'>): Reconciler {
  const { db, config, engine, channels, policy, tracing } = parts
  const refresh = refreshing(parts)
  /** What began and is still open is told afresh, because not every rule reminds of it. */
  const dropped = async (tx: Tx, channelId: string, row: deliveries.DeliveryRow): Promise<void> => {
    const { items } = row.content as Content
    const reminders = items.flatMap(({ id, event }) => (event === 'reminder' ? [id] : []))
    await deliveries.tellAfresh(tx, channelId, row.created_at, reminders)
    await wakeAlerts(engine, tx)
  }
  return {
    queue,
    concurrency: 8,
    deadlineMs: 4 * attemptMs,
    async reconcile(job): Promise<Again> {
      const channel = await store.findChannel(db, job.key)
      if (!channel || channel.paused) return undefined
      const next = await deliveries.nextOf(db, channel.id, new Date(job.now()))
      const waitMs = next ? next.next_at!.getTime() - job.now() : Infinity
      if (!next || waitMs > 0) {
        const refreshMs = channel.kind === 'alertmanager' ? await refresh(channel, job) : Infinity
        const againMs = Math.min(waitMs, refreshMs)
        return againMs === Infinity ? undefined : { againMs }
      }
      const at = new Date(job.now())
      // The channel was paused, or Steelyard was stopped or restored: it would be told as news.
      if (at.getTime() > next.expires_at.getTime() + mostLateMs) {
        await job.fence.write(async (tx) => {
          await deliveries.giveUp(tx, next.id, tooOld, at)
          await dropped(tx, channel.id, next)
        })
        return { againMs: 0 }
      }
      const began = job.upMs()
      const { partly = false, ...outcome } = await job.effect('deliver', async () =>
        send(
          await channels.open(db, channel),
          { id: next.id, at: next.created_at, content: next.content as Content },
          { policy, tracing, origin: config.publicUrl, now: at, signal: job.signal },
        ),
      )
      const took_ms = Math.max(0, Math.round(job.upMs() - began))
      await job.fence.write(async (tx) => {
        const row = await store.lockChannel(tx, channel.id)
        if (!row) return
        await channels.note(tx, row, outcome)
        const number = next.attempts + 1
        const end = new Date(job.now())
        const arrived = partly || outcome.problem === null
        const next_at = arrived ? null : nextAttempt(number, { at: end, expires: next.expires_at })
        await deliveries.attempted(
          tx,
          { delivery_id: next.id, number, at, took_ms, ...outcome },
          { next_at, at: end, arrived },
        )
        if (arrived) await deliveries.hurry(tx, channel.id, end)
        else if (next_at === null) await dropped(tx, channel.id, next)
      })
      return { againMs: 0 }
    },
  }
}
