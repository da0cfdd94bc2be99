/**
 * Sends the messages of a channel, one at a time. A message that doesn't arrive is sent again for a
 * day, with the same id. The attempt is journalled, so after a crash in its middle it is repeated:
 * a receiver may get a message twice, with the same id.
 */
import type { Tx } from '../../db/db.ts'
import type { Engine, Job, Outcome as Again, Reconciler } from '../../engine/engine.ts'
import type { Platform } from '../../platform.ts'
import { wakeAlerts } from './api.ts'
import type { Content } from './message.ts'
import { attemptMs, type Outcome } from './outcome.ts'
import { type RefreshParts, refreshing } from './refreshing.ts'
import { send } from './sending.ts'
import * as deliveries from './store-deliveries.ts'
import * as recipientRows from './store-recipients.ts'
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

/** A later time, if there is one. */
const atLeast = (at: Date, least: Date | null): Date => (least !== null && least > at ? least : at)

/** What became of a message after an attempt: when it is sent next, and to how many it arrived. */
interface Rest {
  readonly next_at: Date | null
  readonly arrived: boolean
  readonly problem: string | null
}

/** Records the outcome of each recipient of a mail. */
async function restOfMail(
  tx: Tx,
  row: deliveries.DeliveryRow,
  { problem, recipients = [] }: Outcome,
  end: Date,
): Promise<Rest> {
  const known = new Map((await recipientRows.recipientsOf(tx, row.id)).map((r) => [r.address, r]))
  for (const { isFinal, ...one } of recipients) {
    const before = known.get(one.address)
    if (before === undefined) continue
    const attempts = before.attempts + 1
    const next_at =
      one.problem === null || isFinal
        ? null
        : nextAttempt(attempts, { at: end, expires: row.expires_at })
    const arrived = one.problem === null ? true : next_at === null ? false : null
    const after = { ...before, ...one, attempts, next_at, arrived }
    known.set(one.address, after)
    await recipientRows.tried(tx, row.id, after)
  }
  const all = [...known.values()]
  const waiting = all.flatMap(({ next_at }) => (next_at === null ? [] : [next_at.getTime()]))
  const lacks = all.filter((one) => one.arrived === false).map((one) => one.address)
  return {
    next_at: waiting.length === 0 ? null : new Date(Math.min(...waiting)),
    arrived: all.some((one) => one.arrived === true),
    problem:
      problem ??
      (lacks.length === 0
        ? null
        : `${lacks.length} of ${all.length} recipients did not get it: ${lacks.join(', ')}`),
  }
}

export function delivering(parts: RefreshParts & Pick<Platform, 'engine'>): Reconciler {
  const { db, config, engine, channels, policy, tracing } = parts
  const refresh = refreshing(parts)
  /** What began and is still open is told afresh, because not every rule reminds of it. */
  const dropped = async (tx: Tx, channelId: string, row: deliveries.DeliveryRow): Promise<void> => {
    const { items } = row.content as Content
    const reminders = items.flatMap(({ incident_id: id, event }) =>
      event === 'reminder' && id ? [id] : [],
    )
    await deliveries.tellAfresh(tx, channelId, row.created_at, reminders)
    await wakeAlerts(engine, tx)
  }

  /** Gives up a message whose time is over: it would be told as news. */
  const giveUp = async (
    tx: Tx,
    channelId: string,
    row: deliveries.DeliveryRow,
    at: Date,
  ): Promise<void> => {
    await recipientRows.giveUpWith(tx, row.id, tooOld)
    const all = await recipientRows.recipientsOf(tx, row.id)
    const arrived = all.some((one) => one.arrived === true)
    await deliveries.end(tx, row.id, { problem: tooOld, arrived, at })
    if (!arrived) await dropped(tx, channelId, row)
  }

  /** The recipients of a mail that are due; undefined for other messages. */
  const dueOf = async (
    job: Job,
    row: deliveries.DeliveryRow,
    to: readonly string[] | null,
    at: Date,
  ): Promise<readonly string[] | undefined> => {
    if (to === null) return undefined
    return job.fence.write(async (tx) => {
      await recipientRows.follow(tx, row.id, to, at)
      const all = await recipientRows.recipientsOf(tx, row.id)
      const waiting = all.filter((one) => one.next_at !== null)
      const due = waiting.filter((one) => one.next_at! <= at).map((one) => one.address)
      if (due.length > 0) return due
      if (waiting.length > 0)
        await deliveries.wait(
          tx,
          row.id,
          new Date(Math.min(...waiting.map((one) => one.next_at!.getTime()))),
        )
      else
        await deliveries.end(tx, row.id, {
          problem: row.problem,
          arrived: all.some((one) => one.arrived === true),
          at,
        })
      return due
    })
  }

  return {
    queue,
    concurrency: 8,
    // The last reply of a mail server is waited for longer.
    deadlineMs: 8 * attemptMs,
    async reconcile(job): Promise<Again> {
      const channel = await store.findChannel(db, job.key)
      if (!channel || channel.paused || channel.gone_since !== null) return undefined
      const pauseMs = (channel.not_before?.getTime() ?? 0) - job.now()
      const next = await deliveries.nextOf(db, channel.id, new Date(job.now()))
      const dueMs = next ? next.next_at!.getTime() - job.now() : Infinity
      const waitMs = Math.max(dueMs, pauseMs)
      if (!next || waitMs > 0) {
        const refreshMs =
          channel.kind !== 'alertmanager'
            ? Infinity
            : pauseMs > 0
              ? pauseMs
              : await refresh(channel, job)
        const againMs = Math.min(waitMs, refreshMs)
        return againMs === Infinity ? undefined : { againMs }
      }
      const at = new Date(job.now())
      // The channel was paused, or Steelyard was stopped or restored.
      if (at.getTime() > next.expires_at.getTime() + mostLateMs) {
        await job.fence.write((tx) => giveUp(tx, channel.id, next, at))
        return { againMs: 0 }
      }
      const due = await dueOf(job, next, channel.mail_to, at)
      if (due?.length === 0) return { againMs: 0 }
      const began = job.upMs()
      const outcome = await job.effect('deliver', async () =>
        send(
          { ...(await channels.open(db, channel)), ...(due && { to: due }) },
          { id: next.id, at: next.created_at, content: next.content as Content },
          { policy, tracing, origin: config.publicUrl, now: at, signal: job.signal },
        ),
      )
      const took_ms = Math.max(0, Math.round(job.upMs() - began))
      await job.fence.write(async (tx) => {
        const row = await store.lockChannel(tx, channel.id)
        if (!row) return
        const end = new Date(job.now())
        await channels.note(tx, row, outcome, end)
        const number = next.attempts + 1
        const isMail = channel.mail_to !== null
        const { problem, status, answer } = outcome
        const hasArrived = problem === null
        const pause = outcome.waitMs === undefined ? null : new Date(end.getTime() + outcome.waitMs)
        const again = hasArrived ? null : nextAttempt(number, { at: end, expires: next.expires_at })
        const rest: Rest = isMail
          ? await restOfMail(tx, next, outcome, end)
          : { next_at: again && atLeast(again, pause), arrived: hasArrived, problem }
        await deliveries.attempted(
          tx,
          { delivery_id: next.id, number, at, took_ms, status, problem, answer },
          { ...rest, at: end },
        )
        const isSomebodys = outcome.recipients?.some((one) => one.problem === null) ?? hasArrived
        if (outcome.isGone && channel.kind === 'webhook') {
          await deliveries.drop(tx, channel.id, problem!, end)
          await deliveries.tellAllAfresh(tx, channel.id)
        } else if (isSomebodys) await deliveries.hurry(tx, channel.id, end)
        // What was refused for good is not told again at once: it would be refused again.
        else if (rest.next_at === null && end >= next.expires_at)
          await dropped(tx, channel.id, next)
      })
      return { againMs: 0 }
    },
  }
}
