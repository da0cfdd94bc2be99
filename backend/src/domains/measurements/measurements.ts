/**
 * Figures over time. The contact loop notes what it reads of servers, and how many servers are in
 * use is counted here. Values of minutes are folded to means and maxima of 15 minutes when their
 * day is over for a day, so the last 24 hours are always there by the minute.
 */
import {
  capacityMeasurements,
  clusterMeasurements,
  dayMs,
  minuteMs,
  quartersKeptMs,
  serverMeasurements,
} from '#contract/measurements/measurements.ts'
import { Problem } from '#contract/errors.ts'
import type { Usage } from '#talos/client/usage.ts'
import type { Db } from '../../db/db.ts'
import { serve } from '../../http/serve.ts'
import type { Domain, Platform } from '../../platform.ts'
import type { Measurements } from './api.ts'
import { type Counted, counting } from './counting.ts'
import { fold } from './folding.ts'
import { figuresBetween, type Used } from './rates.ts'
import { reading } from './reading.ts'
import { allServers, figuresOf } from './series.ts'
import { simulatedPast } from './simulated-past.ts'
import * as store from './store.ts'
import { dayOf, floor } from './times.ts'

/** A reading of a server that has been silent this long is no longer compared. */
const rememberedMs = 10 * minuteMs
/** The usual period of the capacity. */
const monthMs = 30 * dayMs

/** What was noted of a server in a minute. */
interface Noted {
  readonly contacts: number
  readonly answers: number
  readonly used: Used | null
}
const nothing: Noted = { contacts: 0, answers: 0, used: null }

export function measurements(platform: Pick<Platform, 'db' | 'clock' | 'config'>): Measurements {
  const { db, clock } = platform
  const last = new Map<string, { at: number; usage: Usage }>()
  /** By the start of the minute and the server. */
  const noted = new Map<number, Map<string, Noted>>()

  return {
    note(serverId, at, { answered, usage }) {
      const minute = floor(at, minuteMs)
      const servers = noted.get(minute) ?? new Map<string, Noted>()
      noted.set(minute, servers)
      const { contacts, answers, used } = servers.get(serverId) ?? nothing
      servers.set(serverId, {
        contacts: contacts + 1,
        answers: answers + Number(answered),
        // The first reading of a minute stays.
        used: used ?? (usage && figuresBetween(last.get(serverId), { at, usage })),
      })
      if (usage) last.set(serverId, { at, usage })
    },
    async flush(isLast) {
      const current = floor(clock.now(), minuteMs)
      const over = [...noted].filter(([minute]) => isLast || minute !== current)
      if (over.length === 0) return
      for (const [minute] of over) noted.delete(minute)
      for (const [id, { at }] of last) if (at < clock.now() - rememberedMs) last.delete(id)
      // Lost if the database is away: a gap in a chart is true.
      await store.insertMinutes(
        db,
        over.flatMap(([minute, servers]) =>
          Array.from(servers, ([objectId, { contacts, answers, used }]) => ({
            objectId,
            at: new Date(minute),
            figures: figuresOf('server', { ...used, answered: answers / contacts }),
          })),
        ),
      )
    },
    async writeCluster(tx, objectId, at, values) {
      const figures = figuresOf('cluster', values)
      await store.insertMinutes(tx, [{ objectId, at: new Date(floor(at, minuteMs)), figures }])
    },
    writePast: simulatedPast(platform),
  }
}

export function measurementCalls(
  parts: Pick<Platform, 'db' | 'clock' | 'log'> & {
    readonly servers: Counted['servers'] & {
      /** @throws Problem not_found */
      readonly get: (id: string) => Promise<unknown>
    }
    /** `find`: undefined if the cluster doesn't exist. */
    readonly clusters: { readonly find: (on: Db, id: string) => Promise<object | undefined> }
  },
): Domain {
  const { db, clock, servers, clusters } = parts
  const read = reading(parts)
  return {
    name: 'measurements',
    routes(app) {
      const on = serve(app)
      on(serverMeasurements, async ({ params: { id }, query }) => {
        await servers.get(id)
        return read('server', id, query)
      })
      on(clusterMeasurements, async ({ params: { id }, query }) => {
        if (!(await clusters.find(db, id)))
          throw new Problem('not_found', `Cluster ${id} not found`)
        return read('cluster', id, query)
      })
      on(capacityMeasurements, ({ query }) => read('capacity', allServers, query, monthMs))
    },
    ...counting(parts),
    async removeOld() {
      await fold(parts)
      await store.forgetDays(db, dayOf(clock.now() - quartersKeptMs))
    },
  }
}
