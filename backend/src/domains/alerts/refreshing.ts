/** Sends every open alert to an Alertmanager again and again, because it forgets them otherwise. */
import { randomUUID } from 'node:crypto'
import type { EndpointPolicy } from '../../endpoints/policy.ts'
import type { Job } from '../../engine/engine.ts'
import type { Platform } from '../../platform.ts'
import type { Incidents } from '../incidents/api.ts'
import type { Channels } from './channels.ts'
import { itemOf } from './message.ts'
import { refreshMs, send } from './sending.ts'
import * as deliveries from './store-deliveries.ts'
import * as store from './store.ts'

export interface RefreshParts extends Pick<Platform, 'db' | 'config' | 'tracing'> {
  readonly channels: Pick<Channels, 'open' | 'note'>
  readonly incidents: Pick<Incidents, 'standing'>
  readonly policy: EndpointPolicy
}

/**
 * Sends what is open, if it is time. Resolves to the time until the next call, in ms; Infinity if
 * nothing is open.
 */
export const refreshing =
  ({ db, config, tracing, channels, incidents, policy }: RefreshParts) =>
  async (channel: store.ChannelRow, job: Job): Promise<number> => {
    const told = await deliveries.toldOf(db, channel.id)
    const mine = new Map(told.map((one) => [one.incident_id, one.finding_id]))
    if (mine.size === 0) return Infinity
    const waitMs = (channel.refreshed_at?.getTime() ?? 0) + refreshMs - job.now()
    if (waitMs > 0) return waitMs
    const open = (await incidents.standing(db, [])).filter((one) => mine.has(one.id))
    if (open.length === 0) return refreshMs
    const now = new Date(job.now())
    const items = open.map((one) =>
      itemOf(
        one,
        'began',
        one.parts.find(({ id }) => id === mine.get(one.id)),
      ),
    )
    const outcome = await send(
      await channels.open(db, channel),
      { id: randomUUID(), at: now, content: { test: false, items, more: 0 } },
      { policy, tracing, origin: config.publicUrl, now, signal: job.signal },
    )
    await job.fence.write(async (tx) => {
      const row = await store.lockChannel(tx, channel.id)
      if (!row) return
      await channels.note(tx, row, outcome, new Date(job.now()))
      await store.noteChannel(tx, channel.id, { refreshed_at: now })
      if (outcome.problem === null) await deliveries.hurry(tx, channel.id, new Date(job.now()))
    })
    // What waited is sent now.
    return outcome.problem === null ? 0 : refreshMs
  }
