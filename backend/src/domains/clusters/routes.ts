import type { FastifyInstance } from 'fastify'
import {
  clusterCreate,
  clusterDelete,
  clusterEvents,
  clusterGet,
  clusterKubeconfig,
  clusterList,
  clusterPreview,
  clusterServerFailure,
  clusterServerReplace,
  clusterTalosconfig,
} from '#contract/clusters/clusters.ts'
import { clusterImport, clusterImportPreview, clusterSecretsImport } from '#contract/clusters/takeover.ts'
import { serverReset } from '#contract/servers/servers.ts'
import { serve, signedIn } from '../../http/serve.ts'
import type { Clusters } from './clusters.ts'

export function clusterRoutes(app: FastifyInstance, clusters: Clusters): void {
  const on = serve(app)
  on(clusterList, ({ query }) => clusters.list(query))
  on(clusterGet, ({ params }) => clusters.get(params.id))
  on(clusterEvents, ({ params }) => clusters.events(params.id))
  on(clusterCreate, ({ caller, body }) => clusters.create(caller, body))
  serve(app, { heavy: true })(clusterPreview, ({ body }) => clusters.preview(body))
  on(clusterDelete, ({ caller, params, query, ifMatch }) => clusters.remove(caller, params.id, { force: query.force === 'true', ifMatch }))
  on(serverReset, ({ caller, params, body, ifMatch, signal }) =>
    clusters.resetServer(caller, params.id, { keepWorkloadDisks: body.keep_workload_disks, ifMatch, signal }),
  )
  on(clusterServerReplace, ({ caller, params, body }) => clusters.replace(caller, params.id, params.node_id, body.node_id, body.confirmed_disks))
  on(clusterServerFailure, ({ params }) => clusters.failure(params.id, params.node_id))
  on(clusterKubeconfig, async ({ caller, params, saveAs }) => {
    const { name, text } = await clusters.kubeconfig(signedIn(caller), params.id)
    saveAs(name)
    return text
  })
  on(clusterTalosconfig, async ({ caller, params, saveAs }) => {
    const { name, text } = await clusters.talosconfig(signedIn(caller), params.id)
    saveAs(name)
    return text
  })
  serve(app, { heavy: true })(clusterImportPreview, ({ body }) => clusters.takeover.preview(body))
  on(clusterImport, ({ caller, body }) => clusters.takeover.import(caller, body))
  on(clusterSecretsImport, ({ caller, params, body }) => clusters.importSecrets(caller, params.id, body))
}
