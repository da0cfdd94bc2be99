/**
 * Assembles the program: `buildDomains` creates the domains, which know each other only through the
 * parameters that they get here. A new domain is one line in `all` below.
 */
import type { FastifyInstance } from 'fastify'
import type { Tx } from './db/db.ts'
import { alerts as makeAlerts } from './domains/alerts/alerts.ts'
import { apiTokens as makeApiTokens } from './domains/api-tokens/api-tokens.ts'
import { applied } from './domains/applied/applied.ts'
import { audit as makeAudit } from './domains/audit/audit.ts'
import { serverRemoved } from './domains/ccs/api.ts'
import { bmcs as makeBmcs } from './domains/bmcs/bmcs.ts'
import { bulk } from './domains/bulk/bulk.ts'
import { ccs as makeCcs } from './domains/ccs/ccs.ts'
import { changeCalls } from './domains/changes/changes.ts'
import { type ClusterParts } from './domains/clusters/api.ts'
import { clusterCalls } from './domains/clusters/clusters.ts'
import { clusters as makeClusters } from './domains/clusters/core.ts'
import { configurations as makeConfigurations } from './domains/configurations/configurations.ts'
import {
  datacenterCalls,
  datacenters as makeDatacenters,
} from './domains/datacenters/datacenters.ts'
import { events as makeEvents } from './domains/events/events.ts'
import { findings as makeFindings } from './domains/findings/findings.ts'
import { history as makeHistory } from './domains/history/history.ts'
import { incidents as makeIncidents } from './domains/incidents/incidents.ts'
import { keeping } from './domains/incidents/keeping.ts'
import { imageDomain } from './domains/images/domain.ts'
import { invitations as makeInvitations } from './domains/invitations/invitations.ts'
import { joining as makeJoining } from './domains/joining/domain.ts'
import {
  measurementCalls,
  measurements as makeMeasurements,
} from './domains/measurements/measurements.ts'
import { offers as makeOffers } from './domains/offers/offers.ts'
import { labels } from './domains/labels/labels.ts'
import { operations as makeOperations } from './domains/operations/operations.ts'
import { overview } from './domains/overview/overview.ts'
import { layerStore } from './domains/patches/keeping.ts'
import { patches as makePatches } from './domains/patches/patches.ts'
import { sharedPatches } from './domains/patches/shared/shared.ts'
import { patchStore } from './domains/patches/store.ts'
import { pools as makePools, wakePools } from './domains/pools/pools.ts'
import { racks } from './domains/racks/racks.ts'
import { restoration } from './domains/restoration/restoration.ts'
import { sharedViews } from './domains/shared-views/shared-views.ts'
import { serverCalls } from './domains/servers/calls.ts'
import { serverFleet } from './domains/servers/fleet.ts'
import { servers as makeServers } from './domains/servers/servers.ts'
import { sessionDomain } from './domains/sessions/domain.ts'
import { simulation } from './domains/simulation/simulation.ts'
import { isBusy, newestFile, uses } from './domains/snapshots/api.ts'
import { backups } from './domains/snapshots/backups.ts'
import { snapshots as makeSnapshots } from './domains/snapshots/snapshots.ts'
import { stores as makeStores } from './domains/stores/stores.ts'
import { subnets as makeSubnets } from './domains/subnets/subnets.ts'
import { templates } from './domains/templates/templates.ts'
import { accounts as makeAccounts } from './domains/users/accounts.ts'
import { users as makeUsers } from './domains/users/users.ts'
import { waitlist } from './domains/waitlist/waitlist.ts'
import { buildApp } from './http/app.ts'
import { system, type UserCaller } from './http/caller.ts'
import { installationRoutes } from './http/health.ts'
import type { Folders } from './http/pages/console.ts'
import { buildProbes } from './http/probes.ts'
import type { Limits } from './http/limits.ts'
import type { Domain, Platform } from './platform.ts'
import { rotationKey } from './vault/vault.ts'

export type Domains = ReturnType<typeof buildDomains>

export function buildDomains(platform: Platform, onRevoked: (sessionId: string) => void) {
  const { db, clock, vault } = platform
  const installationKey = rotationKey({ db, vault })
  const users = makeUsers(platform)
  const invitations = makeInvitations({ ...platform, users })
  const apiTokens = makeApiTokens({ ...platform, onRevoked })
  const sessions = sessionDomain({
    ...platform,
    users,
    invitations,
    apiTokens,
    installationKey,
    onRevoked,
  })
  const accounts = makeAccounts({ ...platform, users, sessions, invitations })
  const operations = makeOperations(platform)
  const audit = makeAudit(platform)
  const datacenters = makeDatacenters(platform)
  const stores = makeStores({ ...platform, uses, newestFile, isBusy })
  const fleet = serverFleet(platform)
  const onRemoved = (tx: Tx, serverId: string) => serverRemoved(platform, tx, serverId)
  const servers = makeServers({ ...platform, fleet, onRemoved })
  const ccs = makeCcs({ ...platform, servers, audit })
  const clusters = makeClusters({ ...platform, operations, servers, dial: fleet.policy })
  const subnets = makeSubnets({
    ...platform,
    servers,
    pools: { changed: (...change) => wakePools({ ...platform, clusters }, ...change) },
  })
  const layers = { ...platform, servers, store: patchStore(platform) }
  const layersOf = layerStore(layers)
  const configurations = makeConfigurations({
    ...platform,
    servers,
    layers: layersOf,
    clusters: clusters.machines,
  })
  const patches = makePatches({ ...layers, configurations })
  const joining = makeJoining({
    ...platform,
    servers,
    datacenters,
    fleet,
    keepDocuments: (tx, serverId, body) =>
      patches.createIn(tx, system, serverId, { name: 'image', weight: 0, body, labels: {} }),
  })
  const images = imageDomain({ ...platform, datacenters, joining })
  const pools = makePools({ ...platform, operations, servers, clusters, subnets })
  const offers = makeOffers({ ...platform, clusters, servers, installationKey })
  const snapshots = makeSnapshots({ ...platform, clusters, stores })
  const events = makeEvents(platform)
  const history = makeHistory(platform)
  const findings = makeFindings({
    ...platform,
    history,
    servers,
    clusters,
    operations,
    subnets,
    patches,
    versions: images.versions,
    incidents: keeping(platform),
  })
  const incidents = makeIncidents({ ...platform, findings, operations, users })
  const alerts = makeAlerts({
    ...platform,
    incidents,
    operations,
    servers,
    clusters,
    datacenters,
  })
  const measurements = makeMeasurements(platform)
  const clusterParts: ClusterParts = {
    ...platform,
    history,
    worstThen: findings.past.worst,
    secrets: clusters.secrets,
    measurements,
    operations,
    audit,
    datacenters,
    servers,
    configurations,
    patches,
    subnets,
    offers,
    versions: images.versions,
    installers: images.installers,
    pools,
    snapshots,
    dial: fleet.policy,
    async onRemoved(tx, id) {
      await pools.release(tx, id)
      await offers.clusterRemoved(tx, system, id)
      await snapshots.clusterRemoved(tx, id)
    },
  }
  const clusterUse = clusterCalls(clusterParts)
  const changes = changeCalls(clusterParts)
  const calls = serverCalls({
    ...platform,
    history,
    worstThen: findings.past.worst,
    measurements,
    fleet,
    onRemoved,
    servers,
    operations,
    datacenters,
    audit,
    clusters,
  })
  const bmcs = makeBmcs({ ...platform, servers, operations, datacenters, clusters })
  const all: Domain[] = [
    accounts,
    sessions,
    apiTokens,
    invitations,
    {
      name: 'installation',
      routes: (app) => installationRoutes(app, platform, sessions.offered),
    },
    operations,
    datacenterCalls({ ...platform, servers, clusters, subnets }),
    calls,
    bulk({
      ...platform,
      operations,
      servers,
      acts: calls.acts,
      clusters: {
        reset: clusterUse.reset,
        read: clusterUse.read,
        request: changes.request,
        plan: changes.plan,
      },
      ccs,
    }),
    bmcs,
    racks({ ...platform, datacenters, servers }),
    labels(platform),
    sharedViews(platform),
    measurementCalls({ ...platform, servers, clusters }),
    joining,
    images,
    configurations,
    patches,
    stores,
    backups({ ...platform, clusters, stores }),
    snapshots,
    subnets,
    ccs,
    sharedPatches({
      ...platform,
      patches,
      servers,
      clusters,
      configurations,
      operations,
      layers: layersOf,
      changeCluster: changes.request,
    }),
    templates({
      ...platform,
      datacenters,
      servers,
      clusters,
      subnets,
      patches,
      scheduleOf: snapshots.scheduleOf,
      storeNamed: stores.named,
      installers: images.installers,
      versions: images.versions,
      shown: clusterUse.shown,
      extensionsOf: changes.extensionsOf,
    }),
    clusterUse,
    changes,
    pools,
    offers,
    restoration({ ...platform, operations, clusters }),
    audit,
    events,
    findings,
    incidents,
    history,
    alerts,
    overview({
      ...platform,
      datacenters,
      operations,
      servers,
      clusters,
      subnets,
      findings,
      alerts,
      history,
    }),
    simulation({ ...platform, clusters, servers, history, measurements }),
    waitlist({ ...platform, invitations }),
    applied(platform),
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
    invitations,
    accounts,
    sessions,
    apiTokens,
    operations,
    datacenters,
    audit,
    events,
    findings,
    history,
    measurements,
    servers,
    configurations,
    patches,
    clusters,
    changes,
    stores,
    snapshots,
    subnets,
    ccs,
    pools,
    offers,
    bmcs,
    joining,
    images,
    all,
  }
}

export type WebOptions = Folders & { readonly limits?: Limits | undefined }

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
    figures: all.flatMap((domain) => domain.figures ?? []),
    routes: all.flatMap((domain) => domain.routes ?? []),
  })
}

/** The app of a process that answers no calls of the API. */
export const buildWatched = (platform: Platform, { all }: Domains): Promise<FastifyInstance> =>
  buildProbes(
    platform,
    all.flatMap((domain) => domain.figures ?? []),
  )
