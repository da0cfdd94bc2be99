/**
 * The bytes of clusters' machines: composed of layers, stored in generations, sent, and compared
 * with what others have changed. Knows no rule of clusters: a cluster gives it a blueprint.
 */
import { serverDrift, serverDriftKeep, serverDriftOverwrite } from '#contract/servers/drift.ts'
import { serverConfig } from '#contract/servers/servers.ts'
import type { Caller } from '../../http/caller.ts'
import { serve } from '../../http/serve.ts'
import type { Domain } from '../../platform.ts'
import { type Configurations, configuringQueue, sweepQueue } from './api.ts'
import { composing as makeComposing } from './composing/composing.ts'
import { withPlaceholders } from './composing/layers.ts'
import { demandValid, knownOf, layersOf } from './composing/render.ts'
import { drifts } from './drift/drift.ts'
import { effects } from './effects/effects.ts'
import { sweeping } from './drift/sweep.ts'
import { keptConfigs } from './kept.ts'
import type { ConfigurationParts, Core } from './parts.ts'
import { changing } from './sending/changing.ts'
import { configuring } from './sending/configuring.ts'
import { previewing } from './sending/previewing.ts'
import { restarts } from './sending/restarts.ts'
import { sending } from './sending/sending.ts'
import { configurationStore } from './store.ts'
import { trials as makeTrials } from './trials/trials.ts'

/** The merged configuration of a server with masked secrets. */
type Config = (caller: Caller, nodeId: string) => Promise<{ name: string; yaml: string }>

/** With placeholders if the server is in no cluster. */
const showing =
  ({ db, read, layers }: ConfigurationParts, { kept, factsOf, baseOf }: Core): Config =>
  async (caller, nodeId) => {
    const server = await factsOf(db, nodeId)
    const name = `${server.name}.yaml`
    const mask = async (yaml: string): Promise<string> =>
      (await read({ caller }, 'mask', yaml, 'everybody')).text
    const newest = server.cluster && (await kept.newest(db, server.cluster.id, nodeId))
    if (newest) return { name, yaml: await mask(newest.yaml) }
    const { yaml: base, context } = await baseOf(server)
    const all = layersOf(server, context, await layers.ofServer(db, nodeId))
    const { yaml } = demandValid(
      server,
      await read({ caller }, 'compose', base, all, knownOf(context)),
    )
    return { name, yaml: withPlaceholders(await mask(yaml)) }
  }

export function configurations(parts: ConfigurationParts): Configurations & Domain {
  const store = configurationStore(parts)
  const kept = keptConfigs(parts, store, parts.clusters)
  const { factsOf, baseOf, hold, refusedInsteadOf, isOfLayers, ...composing } = makeComposing(
    parts,
    store,
    kept,
  )
  const core: Core = { kept, ...composing, factsOf, baseOf, hold, refusedInsteadOf, isOfLayers }
  const { effectOf, ...effect } = effects(parts, core)
  const drift = drifts(parts, core, effect)
  const trials = makeTrials(parts, core)
  const restarting = restarts(parts, core)
  const { verdict, ...shown } = previewing(parts, core, { ...drift, ...effect }, restarting)
  parts.engine.register({
    queue: configuringQueue,
    reconcile: configuring(parts, core, drift, effect, trials, restarting),
    concurrency: 8,
  })
  parts.engine.register({
    queue: sweepQueue,
    reconcile: sweeping(parts, core, drift, trials),
    concurrency: 4,
  })
  const config = showing(parts, core)
  return {
    name: 'configurations',
    routes(app) {
      const on = serve(app)
      on(serverDrift, ({ params }) => drift.get(params.id))
      on(serverDriftKeep, ({ caller, params, body }) => drift.keep(caller, params.id, body.seen))
      on(serverDriftOverwrite, ({ caller, params, body }) =>
        drift.overwrite(caller, params.id, body.seen, body.confirmed_loss),
      )
      on(serverConfig, async ({ caller, params, saveAs }) => {
        const { name, yaml } = await config(caller, params.id)
        saveAs(name)
        return yaml
      })
    },
    kept,
    ...composing,
    ...shown,
    ...sending(parts, core, drift, effect, trials, restarting),
    ...changing(parts, core, { verdict, drift, ...effect, whyNotRestart: restarting.whyNot }),
    effectOf,
  }
}
