/**
 * Use cases of clusters. Each change is one transaction with rows, audit entry, event and
 * operation. The reconcilers carry the change out.
 */
import type { FastifyInstance } from 'fastify'
import {
  type Cluster,
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
import { canDownloadKubeconfig, canDownloadTalosconfig } from '#contract/clusters/rules.ts'
import { clusterUpdate } from '#contract/clusters/update.ts'
import { clusterHealth } from '#contract/clusters/health.ts'
import { clusterPods } from '#contract/clusters/pods.ts'
import { clusterFilesHold, clusterFilesRelease } from '#contract/clusters/files.ts'
import {
  clusterImport,
  clusterImportPreview,
  clusterKeyReplace,
  clusterSecretsImport,
} from '#contract/clusters/takeover.ts'
import { clusterExport } from '#contract/csv/list-exports.ts'
import { clusterGroups } from '#contract/clusters/groups.ts'
import { Problem } from '#contract/errors.ts'
import { clusterSubnetsAssign } from '#contract/network/subnets.ts'
import { hasPatches, largestPatchBody, patchCreate } from '#contract/patches.ts'
import { serverReset } from '#contract/servers/servers.ts'
import { kubeconfig, talosconfig } from '#talos/access/access.ts'
import { inTransaction } from '../../db/db.ts'
import { demandScope, type UserCaller } from '../../http/caller.ts'
import { serve, signedIn } from '../../http/serve.ts'
import type { Domain } from '../../platform.ts'
import {
  clusterQueue,
  type ClusterParts,
  controlPlaneAddresses,
  demandCluster,
  memberQueue,
} from './parts.ts'
import { healthWatch } from './health/health-watch.ts'
import { createCluster, previewCluster } from './create/creation.ts'
import { replaceServer } from './create/replacing.ts'
import { guardRetries } from './create/retrying.ts'
import { exported } from './listed/csv.ts'
import { grouped } from './listed/groups.ts'
import { labelCluster } from './listed/labelling.ts'
import { clusterOfPast, pageOfPast } from './listed/past.ts'
import { holdByFiles, releaseFromFiles } from './held/holding.ts'
import { operatorGroup } from './objects.ts'
import { clusterHealthNow } from './health/health.ts'
import { clusterPodsNow } from './health/pods.ts'
import { clusterOf, deleteCluster, resetServer, type ServerReset } from './leave/leaving.ts'
import { failureAnswer } from './member/failure-log.ts'
import { memberReconciler } from './member/reconcile.ts'
import { present } from './present.ts'
import { shown, shownOne } from './shown.ts'
import * as store from './store.ts'
import { clusterFigures } from './summary.ts'
import { replaceKey } from './takeover/key-replace.ts'
import { importSecrets } from './takeover/secrets-import.ts'
import { previewTakeover, takeOver } from './takeover/takeover.ts'
import { clusterReconciler } from './whole/reconcile-cluster.ts'
import { tellTroubles } from './troubles.ts'
import { wakeCluster } from './whole/wake.ts'

/** Lifetime of downloaded credentials, in ms. */
const downloadLifetimeMs = 24 * 3_600_000

const isAdmin = (caller: UserCaller) => caller.scopes.includes('users:manage')

/**
 * Creates a file with credentials if the cluster's state allows it, and records the download in the
 * audit log.
 */
async function download(
  { db, record }: ClusterParts,
  caller: UserCaller,
  id: string,
  what: 'kubeconfig' | 'talosconfig',
  mint: (row: store.ListedCluster) => Promise<string>,
) {
  const row = await demandCluster(db, id)
  const verdict =
    what === 'talosconfig' ? canDownloadTalosconfig(present(row)) : canDownloadKubeconfig(row)
  if (!verdict.ok) throw Problem.of('cluster_not_ready', verdict)
  const text = await mint(row)
  await inTransaction(db, (tx) =>
    record(tx, caller, {
      action: `cluster.${what}_downloaded`,
      target: { kind: 'cluster', id, name: row.name },
      after: { as: isAdmin(caller) ? 'admin' : 'operator', lifetime_hours: 24 },
    }),
  )
  return { name: `${row.name}-${what}.yaml`, text }
}

const downloadKubeconfig = (parts: ClusterParts, caller: UserCaller, id: string) =>
  download(parts, caller, id, 'kubeconfig', async (row) => {
    const user = isAdmin(caller) ? 'admin' : 'operator'
    // The user's name appears in the cluster's own audit log. A common name has at most 64
    // characters (RFC 5280, ub-common-name).
    const commonName = caller.email.length <= 64 ? caller.email : caller.userId
    const organizations = [user === 'admin' ? 'system:masters' : operatorGroup]
    const credentials = await parts.secrets.mintKubernetes(
      id,
      { commonName, organizations },
      downloadLifetimeMs,
    )
    return kubeconfig({ ...credentials!, cluster: row.name, server: row.endpoint, user })
  })

const downloadTalosconfig = (parts: ClusterParts, caller: UserCaller, id: string) =>
  download(parts, caller, id, 'talosconfig', async (row) => {
    const credentials = await parts.secrets.mintTalos(
      id,
      [isAdmin(caller) ? 'os:admin' : 'os:operator'],
      downloadLifetimeMs,
    )
    // The file lists no nodes, just as a talosconfig that Talos generates. If it listed them,
    // `talosctl reset` without `--nodes` would reset the whole cluster.
    return talosconfig({
      ...credentials!,
      context: row.name,
      endpoints: await controlPlaneAddresses(parts, id),
    })
  })

function clusterRoutes(app: FastifyInstance, parts: ClusterParts): void {
  const on = serve(app)
  const heavy = serve(app, { heavy: true })
  // These may bring patches.
  const long = serve(app, { largestBody: largestPatchBody })
  const longHeavy = serve(app, { heavy: true, largestBody: largestPatchBody })
  on(clusterList, async ({ query }) => {
    if (query.at !== undefined) return pageOfPast(parts, query, query.at)
    const { rows, total } = await store.page(parts.db, query)
    return {
      items: await shown(parts, parts.db, rows),
      page: query.page,
      per_page: query.per_page,
      total,
    }
  })
  on(clusterExport, async ({ query, saveAs }) => {
    const text = await exported(parts, query)
    saveAs('clusters.csv')
    return text
  })
  on(clusterGroups, ({ query }) => grouped(parts.db, query))
  on(clusterGet, ({ params, query: { at } }) =>
    at === undefined ? shownOne(parts, parts.db, params.id) : clusterOfPast(parts, params.id, at),
  )
  on(clusterUpdate, ({ caller, params, body, ifMatch }) =>
    labelCluster(parts, caller, params.id, body, ifMatch),
  )
  on(clusterEvents, async ({ params }) => {
    const { id } = await demandCluster(parts.db, params.id)
    return { items: await parts.audit.events({ kind: 'cluster', id }, 200) }
  })
  long(clusterCreate, ({ caller, body }) => {
    if (hasPatches(body.servers)) demandScope(signedIn(caller), patchCreate.scope)
    if (body.subnet_ids?.length) demandScope(signedIn(caller), clusterSubnetsAssign.scope)
    return createCluster(parts, caller, body)
  })
  longHeavy(clusterPreview, ({ body }) => previewCluster(parts, body))
  on(clusterDelete, ({ caller, params, query, ifMatch }) =>
    deleteCluster(parts, caller, params.id, { force: query.force === 'true', ifMatch }),
  )
  on(serverReset, ({ caller, params, body, ifMatch, signal }) =>
    resetServer(parts, caller, params.id, {
      keepWorkloadDisks: body.keep_workload_disks,
      ifMatch,
      signal,
    }),
  )
  on(clusterServerReplace, ({ caller, params, body }) =>
    replaceServer(parts, caller, params.id, params.node_id, body),
  )
  on(clusterServerFailure, async ({ params }) => {
    const { id } = await demandCluster(parts.db, params.id)
    const member = await store.member(parts.db, id, params.node_id)
    if (!member) throw new Problem('not_found', 'There is no such server in this cluster')
    return failureAnswer(member)
  })
  on(clusterHealth, ({ params, signal }) => clusterHealthNow(parts, params.id, signal))
  heavy(clusterPods, ({ params, query, signal }) => clusterPodsNow(parts, params.id, query, signal))
  on(clusterKubeconfig, async ({ caller, params, saveAs }) => {
    const { name, text } = await downloadKubeconfig(parts, signedIn(caller), params.id)
    saveAs(name)
    return text
  })
  on(clusterTalosconfig, async ({ caller, params, saveAs }) => {
    const { name, text } = await downloadTalosconfig(parts, signedIn(caller), params.id)
    saveAs(name)
    return text
  })
  on(clusterFilesHold, ({ caller, params, body }) =>
    holdByFiles(parts, caller, params.id, body.set),
  )
  on(clusterFilesRelease, ({ caller, params }) => releaseFromFiles(parts, caller, params.id))
  heavy(clusterImportPreview, ({ caller, body, signal }) =>
    previewTakeover(parts, { caller, signal }, body),
  )
  on(clusterImport, ({ caller, body }) => takeOver(parts, caller, body))
  on(clusterKeyReplace, ({ caller, params, body }) => replaceKey(parts, caller, params.id, body))
  on(clusterSecretsImport, ({ caller, params, body }) =>
    importSecrets(parts, caller, params.id, body),
  )
}

/** The calls on clusters, and their reconcilers. */
export function clusterCalls(parts: ClusterParts): Domain & {
  readonly reset: ServerReset
  /** Undefined if the cluster doesn't exist. */
  readonly read: (id: string) => Promise<Cluster | undefined>
  /** A cluster as the API shows it. @throws Problem not_found */
  readonly shown: (id: string) => Promise<Cluster>
} {
  const { db, engine } = parts
  guardRetries(parts)
  tellTroubles(parts)
  engine.register(clusterReconciler(parts))
  engine.register(memberReconciler(parts))
  engine.register(healthWatch(parts))
  parts.operations.worksPerServer(clusterQueue, memberQueue)
  return {
    name: 'clusters',
    reset: (caller, nodeId, asked) => resetServer(parts, caller, nodeId, asked),
    read: (id) => clusterOf(db, id),
    shown: (id) => shownOne(parts, db, id),
    figures: () => clusterFigures(parts),
    routes: (app) => clusterRoutes(app, parts),
    // Schedules every cluster, because scheduled runs may have been lost.
    start: () =>
      inTransaction(db, async (tx) => {
        for (const id of await store.livingIds(tx)) await wakeCluster(engine, tx, id)
      }),
  }
}
