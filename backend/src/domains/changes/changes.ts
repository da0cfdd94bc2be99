/** The calls on changes of running clusters, and the reconcilers that carry the changes out. */
import type { FastifyInstance } from 'fastify'
import { clusterCertificates } from '#contract/clusters/certificates.ts'
import {
  carriesPatches,
  clusterChange,
  clusterPlan,
  clusterWindowSet,
} from '#contract/clusters/changes/changes.ts'
import { clusterExtensions } from '#contract/clusters/extensions.ts'
import { largestPatchBody, patchCreate } from '#contract/patches.ts'
import { demandScope, system } from '../../http/caller.ts'
import { serve, signedIn } from '../../http/serve.ts'
import type { Domain } from '../../platform.ts'
import { changeQueue, type ClusterParts, demandCluster, memberQueue } from '../clusters/api.ts'
import type { Changes } from './api.ts'
import { guardChangeRetries, requestChange, setWindow } from './changing.ts'
import { inTime, planChange, viewFor } from './planning.ts'
import { changeReconciler } from './reconcile.ts'
import { certificateWatch } from './rotate/certificate-watch.ts'
import { certificatesOf } from './rotate/certificates.ts'
import { installedOn } from './talos-upgrade/installed.ts'

function changeRoutes(app: FastifyInstance, parts: ClusterParts): void {
  const on = serve(app)
  // These may bring patches.
  const long = serve(app, { largestBody: largestPatchBody })
  const longHeavy = serve(app, { heavy: true, largestBody: largestPatchBody })
  longHeavy(clusterPlan, ({ caller, params, body, signal }) => {
    if (carriesPatches(body.change)) demandScope(signedIn(caller), patchCreate.scope)
    return planChange(parts, params.id, body.change, signal, caller)
  })
  on(clusterCertificates, async ({ params, signal }) =>
    certificatesOf(parts, (await demandCluster(parts.db, params.id)).id, signal),
  )
  on(clusterExtensions, async ({ params, signal }) =>
    installedOn(inTime(await viewFor(parts, params.id, signal))),
  )
  long(clusterChange, ({ caller, params, body, signal }) => {
    if (carriesPatches(body.change)) demandScope(signedIn(caller), patchCreate.scope)
    return requestChange(parts, caller, params.id, body, signal)
  })
  on(clusterWindowSet, ({ caller, params, body, ifMatch }) =>
    setWindow(parts, caller, params.id, body, ifMatch),
  )
}

/** The calls on changes of clusters, and their reconcilers. */
export function changeCalls(parts: ClusterParts): Domain & Changes {
  const { engine, operations } = parts
  guardChangeRetries(parts)
  engine.register(changeReconciler(parts))
  engine.register(certificateWatch(parts))
  operations.worksPerServer(changeQueue, memberQueue)
  return {
    name: 'changes',
    request: (...asked) => requestChange(parts, ...asked),
    plan: (...asked) => planChange(parts, ...asked, system),
    extensionsOf: async (id, signal) =>
      (await installedOn(inTime(await viewFor(parts, id, signal)))).items,
    routes: (app) => changeRoutes(app, parts),
  }
}
