/**
 * The past of a demo: entries of the history and figures that say that they were simulated. They are
 * no part of the audit log, and no state is computed from them. Only a program that runs with
 * simulated servers (`STEELYARD_SIMULATE`) has the call.
 */
import { inTransaction } from '../../db/db.ts'
import { serve } from '../../http/serve.ts'
import type { Domain, Platform } from '../../platform.ts'
import type { Clusters } from '../clusters/api.ts'
import type { History } from '../history/api.ts'
import type { Measurements } from '../measurements/api.ts'
import type { Servers } from '../servers/api.ts'
import { simulatedPast } from './call.ts'
import { figuresOf } from './figures.ts'
import { dayMs, pastDays, type SimulatedCluster } from './incidents.ts'
import { pastOf } from './past.ts'

export const simulation = ({
  db,
  clock,
  config,
  clusters,
  servers,
  history,
  measurements,
}: Pick<Platform, 'db' | 'clock' | 'config'> & {
  readonly clusters: Pick<Clusters, 'conditions' | 'find'>
  readonly servers: Pick<Servers, 'inUse'>
  readonly history: Pick<History, 'writeSimulated'>
  readonly measurements: Pick<Measurements, 'writePast'>
}): Domain => ({
  name: 'simulation',
  routes(app) {
    if (config.simulate === undefined) return
    serve(app)(simulatedPast, async () => {
      const now = clock.now()
      const there: SimulatedCluster[] = []
      for (const { id, name, talos_version, kubernetes_version } of await clusters.conditions(db)) {
        const nodes = (await clusters.find(db, id))?.nodes ?? []
        there.push({ id, name, talos_version, kubernetes_version, nodes })
      }
      const known = there.toSorted((a, b) => b.nodes.length - a.nodes.length)
      const present = await servers.inUse()
      return inTransaction(db, async (tx) => ({
        entries: await history.writeSimulated(tx, pastOf(known, now)),
        figures: await measurements.writePast(tx, {
          from: new Date(now - pastDays * dayMs),
          objects: figuresOf(known, present, now),
        }),
      }))
    })
  },
})
