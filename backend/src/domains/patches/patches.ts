/** Patches of servers' configurations: API calls, and the handling of changes by others. */
import type { FastifyInstance } from 'fastify'
import {
  patchCreate,
  patchGet,
  patchList,
  patchPreview,
  patchRemove,
  patchSchema,
  patchUpdate,
} from '#contract/patches.ts'
import { serverDrift, serverDriftKeep, serverDriftOverwrite } from '#contract/servers/drift.ts'
import { serverConfig } from '#contract/servers/servers.ts'
import { serve } from '../../http/serve.ts'
import { configuring, configuringQueue } from './configuring.ts'
import { drifts } from './drift/drift.ts'
import { sweeping, sweepQueue } from './drift/sweep.ts'
import { previewing } from './previewing.ts'
import { type PatchPlatform, patchReading } from './reading.ts'
import { rolling } from './rolling.ts'
import { patchWriting } from './writing.ts'

export type Patches = ReturnType<typeof patches>

export function patchRoutes(app: FastifyInstance, patches: Patches): void {
  const on = serve(app)
  on(patchSchema, () => Promise.resolve(patches.schema()))
  on(patchList, ({ caller, params }) => patches.list(caller, params.id))
  on(patchGet, ({ caller, params }) => patches.get(caller, params.id, params.patchId))
  on(patchCreate, ({ caller, params, body }) => patches.create(caller, params.id, body))
  on(patchUpdate, ({ caller, params, body, ifMatch }) =>
    patches.update(caller, params.id, params.patchId, body, ifMatch),
  )
  on(patchRemove, ({ caller, params, ifMatch }) =>
    patches.remove(caller, params.id, params.patchId, ifMatch).then(() => undefined),
  )
  serve(app, { heavy: true })(patchPreview, ({ caller, signal, params, body }) =>
    patches.preview({ caller, signal }, params.id, body),
  )
  on(serverDrift, ({ params }) => patches.drift.get(params.id))
  on(serverDriftKeep, ({ caller, params, body }) =>
    patches.drift.keep(caller, params.id, body.seen),
  )
  on(serverDriftOverwrite, ({ caller, params, body }) =>
    patches.drift.overwrite(caller, params.id, body.seen),
  )
  on(serverConfig, async ({ caller, params, saveAs }) => {
    const { name, yaml } = await patches.config(caller, params.id)
    saveAs(name)
    return yaml
  })
}

export function patches(platform: PatchPlatform) {
  const { engine } = platform
  const { core, ...reading } = patchReading(platform)
  const drift = drifts(platform, core)
  engine.register({
    queue: configuringQueue,
    reconcile: configuring(platform, drift),
    concurrency: 8,
  })
  engine.register({ queue: sweepQueue, reconcile: sweeping(platform, drift), concurrency: 4 })
  const { verdict, preview, warnings } = previewing(platform, core)
  return {
    ...reading,
    ...patchWriting(platform, core, { verdict, drift }),
    preview,
    /** Changes of configurations by operations on clusters. */
    rolling: rolling(platform, core, { verdict, warnings, drift }),
    /** Changes that others have made to the configurations of machines. */
    drift,
  }
}
