/**
 * Assembles the program: `buildDomains` creates the domains, which know each other only through the
 * parameters that they get here. A new domain is one line in `all` below.
 */
import type { FastifyInstance } from 'fastify'
import { apiTokens as makeApiTokens } from './domains/api-tokens/api-tokens.ts'
import { appliedRoutes } from './domains/applied/applied.ts'
import { audit as makeAudit } from './domains/audit/audit.ts'
import { ccRoutes, ccs as makeCcs, type Ccs } from './domains/ccs/ccs.ts'
import { clusterRoutes, clusters as makeClusters } from './domains/clusters/clusters.ts'
import { clusterCore } from './domains/clusters/core.ts'
import type { ClusterParts } from './domains/clusters/parts.ts'
import {
  configurationRoutes,
  configurations as makeConfigurations,
} from './domains/configurations/configurations.ts'
import {
  type Content,
  datacenterRoutes,
  datacenters as makeDatacenters,
  type Datacenters,
  nothing,
} from './domains/datacenters/datacenters.ts'
import { events as makeEvents } from './domains/events/events.ts'
import { factory as makeFactory } from './domains/images/factory.ts'
import { installers } from './domains/images/installers.ts'
import { versions as makeVersions } from './domains/images/versions.ts'
import { imageRoutes, images as makeImages } from './domains/images/images.ts'
import { invitations as makeInvitations } from './domains/invitations/invitations.ts'
import { joinDomain } from './domains/joining/domain.ts'
import { offerRoutes, offers as makeOffers } from './domains/offers/offers.ts'
import { operationRoutes, operations as makeOperations } from './domains/operations/operations.ts'
import { overviewRoutes } from './domains/overview/overview.ts'
import { layerStore } from './domains/patches/keeping.ts'
import { patches as makePatches, patchRoutes } from './domains/patches/patches.ts'
import { patchStore } from './domains/patches/store.ts'
import { poolRoutes, pools as makePools, wakePools } from './domains/pools/pools.ts'
import {
  restoration as makeRestoration,
  restorationRoutes,
} from './domains/restoration/restoration.ts'
import { sessionDomain } from './domains/sessions/domain.ts'
import { serverDomain, serverFleet } from './domains/servers/domain.ts'
import { clusterUse as makeClusterUse } from './domains/servers/for-clusters.ts'
import type { Summary } from './domains/servers/list/summary.ts'
import { storeRoutes, stores as makeStores } from './domains/stores/stores.ts'
import { backupRoutes, backups as makeBackups } from './domains/snapshots/backups.ts'
import {
  isBusy,
  newestFile,
  snapshotRoutes,
  snapshots as makeSnapshots,
  uses,
} from './domains/snapshots/snapshots.ts'
import { subnetRoutes, subnets as makeSubnets } from './domains/subnets/subnets.ts'
import { accounts as makeAccounts } from './domains/users/accounts.ts'
import { users as makeUsers } from './domains/users/users.ts'
import { waitlist } from './domains/waitlist/waitlist.ts'
import type { Tx } from './db/db.ts'
import { buildApp } from './http/app.ts'
import { system, type UserCaller } from './http/caller.ts'
import { installationRoutes } from './http/health.ts'
import type { Limits } from './http/limits.ts'
import type { Domain, Platform } from './platform.ts'
import { rotationKey } from './vault/vault.ts'

/**
 * Delay of the first fetch of the Talos versions, in ms, so that it doesn't slow down the start.
 */
const firstVersionsMs = 1_000

export type Domains = ReturnType<typeof buildDomains>

export function buildDomains(platform: Platform, onRevoked: (sessionId: string) => void) {
  const { db, clock, config, engine, vault } = platform
  const installationKey = rotationKey({ db, vault })
  const users = makeUsers(platform)
  const sessions = sessionDomain({ ...platform, users, installationKey, onRevoked })
  const invitations = makeInvitations({ ...platform, users })
  const accounts = makeAccounts({ ...platform, users, sessions, invitations })
  const apiTokens = makeApiTokens({ ...platform, onRevoked })
  const stores = makeStores({ ...platform, uses, newestFile, isBusy })
  const operations = makeOperations(platform)
  const audit = makeAudit(platform)
  const factory = makeFactory({ ...platform, url: config.imageFactoryUrl })
  const versions = makeVersions({ factory, clock })
  const datacenters: Datacenters = makeDatacenters({
    ...platform,
    contents: async () =>
      contentsOf(
        await servers.summary(),
        await clusters.countByDatacenter(db),
        await subnets.countByDatacenter(db),
      ),
  })
  const fleet = serverFleet(platform)
  // Servers and clusters use each other, so the parts with the fewest dependencies are
  // created first.
  const onRemoved = (tx: Tx, serverId: string) => ccs.serverRemoved(tx, serverId)
  const clusterUse = makeClusterUse({ ...platform, fleet, onRemoved })
  const core = clusterCore({
    ...platform,
    operations,
    servers: clusterUse,
    dial: fleet.policy,
  })
  const { access } = core
  const { servers, domain: serversDomain } = serverDomain({
    ...platform,
    operations,
    datacenters,
    audit,
    access,
    clusterUse,
    fleet,
    onRemoved,
  })
  const ccs: Ccs = makeCcs({ ...platform, servers, audit })
  engine.register(ccs.reconciler)
  const layers = { ...platform, servers, store: patchStore(platform) }
  const configurations = makeConfigurations({
    ...platform,
    servers,
    layers: layerStore(layers),
    clusters: core.machines,
  })
  const patches = makePatches({ ...layers, configurations })
  const subnets = makeSubnets({
    ...platform,
    servers,
    pools: { changed: (tx, ids) => wakePools(platform, tx, ids) },
  })
  const pools = makePools({ ...platform, operations, clusters: core.forPools, subnets })
  engine.register(pools.reconciler)
  const offers = makeOffers({
    ...platform,
    clusters: core.forPools,
    servers: clusterUse,
    installationKey,
  })
  engine.register(offers.reconciler)
  const snapshots = makeSnapshots({ ...platform, clusters: core.forSnapshots, stores })
  const backups = makeBackups({ ...platform, clusters: core.forSnapshots, stores })
  for (const reconciler of snapshots.reconcilers) engine.register(reconciler)
  const clusterParts: ClusterParts = {
    ...platform,
    ...core,
    operations,
    audit,
    datacenters,
    servers,
    configurations,
    patches,
    subnets,
    offers,
    versions,
    installers: installers({ ...platform, factory }),
    snapshots,
    dial: fleet.policy,
    async onRemoved(tx, id) {
      await pools.release(tx, id)
      await offers.clusterRemoved(tx, system, id)
      await snapshots.clusterRemoved(tx, id)
    },
  }
  const clusters = makeClusters(clusterParts)
  const { joining, domain: joinsDomain } = joinDomain(platform, { servers, datacenters, fleet })
  const images = makeImages({ ...platform, factory, datacenters, joining })
  const events = makeEvents(platform)
  const restoration = makeRestoration({ ...platform, operations, clusters })
  const all: Domain[] = [
    accounts,
    sessions,
    apiTokens,
    invitations,
    {
      name: 'installation',
      routes: (app) => installationRoutes(app, platform, sessions.offered),
    },
    { name: 'operations', routes: (app) => operationRoutes(app, operations) },
    { name: 'datacenters', routes: (app) => datacenterRoutes(app, datacenters) },
    serversDomain,
    joinsDomain,
    {
      name: 'images',
      routes: (app) => imageRoutes(app, images, versions),
      start: async () => void setTimeout(() => void versions.refresh(), firstVersionsMs).unref(),
    },
    { name: 'configurations', routes: (app) => configurationRoutes(app, configurations) },
    { name: 'patches', routes: (app) => patchRoutes(app, patches) },
    { name: 'stores', routes: (app) => storeRoutes(app, stores) },
    { name: 'backups', routes: (app) => backupRoutes(app, backups) },
    {
      name: 'snapshots',
      routes: (app) => snapshotRoutes(app, snapshots),
      start: () => snapshots.resume(),
      removeOld: () => snapshots.removeOld(),
    },
    { name: 'subnets', routes: (app) => subnetRoutes(app, subnets) },
    {
      name: 'commitments',
      routes: (app) => ccRoutes(app, ccs),
      start: () => ccs.start(),
      stop: () => ccs.stop(),
    },
    {
      name: 'clusters',
      routes: (app) => clusterRoutes(app, clusterParts),
      start: () => clusters.resume(),
    },
    { name: 'pools', routes: (app) => poolRoutes(app, pools), start: () => pools.resume() },
    {
      name: 'offers',
      routes: (app) =>
        offerRoutes(app, offers, { offerTool: config.offerTool, version: platform.version }),
      start: () => offers.resume(),
      removeOld: () => offers.removeOld(),
    },
    {
      name: 'restoration',
      routes: (app) => restorationRoutes(app, restoration),
      start: () => restoration.start(),
    },
    audit,
    events,
    {
      name: 'overview',
      routes: (app) =>
        overviewRoutes(app, { datacenters, operations, servers, clusters, subnets, config }),
    },
    waitlist({ ...platform, invitations }),
    { name: 'applied', routes: (app) => appliedRoutes(app, platform) },
    {
      name: 'idempotency',
      removeOld: async () =>
        void (await db
          .deleteFrom('idempotent_call')
          .where('started_at', '<', new Date(clock.now() - 24 * 3600_000))
          .execute()),
    },
  ]
  return {
    users,
    sessions,
    apiTokens,
    operations,
    datacenters,
    audit,
    events,
    servers,
    configurations,
    patches,
    clusters,
    stores,
    snapshots,
    subnets,
    ccs,
    pools,
    offers,
    joining,
    images,
    clusterCore: core,
    all,
  }
}

/** Numbers of servers, clusters, subnets and compute units by datacenter id. */
const contentsOf = (
  { capacity }: Summary,
  clusters: ReadonlyMap<string, number>,
  subnets: ReadonlyMap<string, number>,
): ReadonlyMap<string, Content> => {
  const contents = new Map<string, Content>(
    [...clusters].map(([id, count]) => [id, { ...nothing, clusters: count }]),
  )
  for (const [id, count] of subnets)
    contents.set(id, { ...(contents.get(id) ?? nothing), subnets: count })
  for (const { datacenter_id: id, servers, compute_units } of capacity)
    if (id !== null) contents.set(id, { ...(contents.get(id) ?? nothing), servers, compute_units })
  return contents
}

export type WebOptions = {
  readonly consoleFolder: string
  readonly cliFile: string
  readonly docsFolder: string
  readonly limits?: Limits | undefined
}

/** The HTTP app with every domain's routes. */
export const buildWeb = (
  platform: Platform,
  { sessions, apiTokens, events, all }: Domains,
  options: WebOptions,
): Promise<FastifyInstance> => {
  const isToken = ({ isToken: is }: UserCaller): boolean => is === true
  return buildApp({
    ...platform,
    ...options,
    authenticate: (token, request) =>
      (apiTokens.isToken(token) ? apiTokens : sessions).authenticate(token, request),
    lastProof: (sessionId) => sessions.lastProof(sessionId),
    lapsed: async (callers) => [
      ...(await sessions.lapsed(callers.filter((caller) => !isToken(caller)))),
      ...(await apiTokens.lapsed(callers.filter(isToken))),
    ],
    lastEvent: events.last,
    hashKey: rotationKey(platform),
    routes: all.flatMap((domain) => domain.routes ?? []),
  })
}
