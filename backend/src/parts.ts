/**
 * Assembles the program: `buildDomains` creates the domains, which know each other only through the
 * parameters that they get here. A new domain is one line in `all` below.
 */
import type { FastifyInstance } from 'fastify'
import {
  apiTokenRoutes,
  apiTokens as makeApiTokens,
  isApiToken,
} from './domains/api-tokens/api-tokens.ts'
import { appliedRoutes } from './domains/applied/applied.ts'
import { audit as makeAudit, auditRoutes } from './domains/audit/audit.ts'
import { ccRoutes, ccs as makeCcs, type Ccs } from './domains/ccs/ccs.ts'
import { clusterRoutes, clusters as makeClusters } from './domains/clusters/clusters.ts'
import { clusterCore } from './domains/clusters/core.ts'
import type { ClusterParts } from './domains/clusters/parts.ts'
import {
  type Content,
  datacenterRoutes,
  datacenters as makeDatacenters,
  type Datacenters,
  nothing,
} from './domains/datacenters/datacenters.ts'
import { eventRoutes, events as makeEvents } from './domains/events/events.ts'
import { factory as makeFactory } from './domains/images/factory.ts'
import { installers } from './domains/images/installers.ts'
import { versions as makeVersions } from './domains/images/versions.ts'
import { imageRoutes, images as makeImages } from './domains/images/images.ts'
import {
  invitationRoutes,
  invitations as makeInvitations,
} from './domains/invitations/invitations.ts'
import { joinDomain } from './domains/joining/domain.ts'
import { offerRoutes, offers as makeOffers } from './domains/offers/offers.ts'
import { operationRoutes, operations as makeOperations } from './domains/operations/operations.ts'
import { overviewRoutes } from './domains/overview/overview.ts'
import { patches as makePatches, patchRoutes } from './domains/patches/patches.ts'
import { patchRendering } from './domains/patches/reading.ts'
import { poolRoutes, pools as makePools, wakePools } from './domains/pools/pools.ts'
import {
  restoration as makeRestoration,
  restorationRoutes,
} from './domains/restoration/restoration.ts'
import { challenges as makeChallenges } from './domains/sessions/challenges.ts'
import { devices } from './domains/sessions/devices.ts'
import { openSessions } from './domains/sessions/open-sessions.ts'
import { profile as makeProfile, profileRoutes } from './domains/sessions/profile.ts'
import { provider as makeProvider } from './domains/sessions/provider/provider.ts'
import { passkeys as makePasskeys } from './domains/sessions/second-factor/passkeys.ts'
import { secondFactors as makeSecondFactors } from './domains/sessions/second-factor/second-factor.ts'
import { serverDomain, serverFleet } from './domains/servers/domain.ts'
import { clusterUse as makeClusterUse } from './domains/servers/for-clusters.ts'
import type { Summary } from './domains/servers/list/summary.ts'
import { sessionRoutes, sessions as makeSessions } from './domains/sessions/sessions.ts'
import { throttle } from './domains/sessions/throttle.ts'
import { tokens } from './domains/sessions/tokens.ts'
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
import { accounts as makeAccounts, userRoutes } from './domains/users/accounts.ts'
import { identities as makeIdentities } from './domains/users/identities.ts'
import { users as makeUsers } from './domains/users/users.ts'
import { waitlistRoutes } from './domains/waitlist/waitlist.ts'
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
  const users = makeUsers(platform)
  const installationKey = rotationKey({ db, vault })
  const slowed = throttle(platform)
  const open = openSessions({ ...platform, idleMs: config.sessionIdleHours * 3600_000, onRevoked })
  const secondFactors = makeSecondFactors({ ...platform, open, installationKey })
  const challenges = makeChallenges({ ...platform, installationKey })
  const passkeys = makePasskeys({ ...platform, challenges, secondFactors })
  const provider = makeProvider({ ...platform, challenges })
  const identities = makeIdentities({ ...platform, users, open })
  const people = {
    ...platform,
    users,
    identities,
    open,
    throttle: slowed,
    secondFactors,
    passkeys,
    provider,
  }
  const sessionParts = {
    ...people,
    tokens: tokens(platform),
    devices: devices(installationKey, platform.config),
    rotationKey: installationKey,
  }
  const sessions = makeSessions(sessionParts)
  const profile = makeProfile(people)
  const invitations = makeInvitations(people)
  const accounts = makeAccounts({ ...people, invitations })
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
  // Servers, patches and clusters use each other, so the parts with the fewest dependencies are
  // created first.
  const onRemoved = (tx: Tx, serverId: string) => ccs.serverRemoved(tx, serverId)
  const clusterUse = makeClusterUse({ ...platform, fleet, onRemoved })
  const rendering = patchRendering({ ...platform, servers: clusterUse })
  const core = clusterCore({
    ...platform,
    operations,
    servers: clusterUse,
    patches: rendering,
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
  const patches = makePatches({ ...platform, servers, access, rendering })
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
    {
      name: 'users',
      routes: (app) => userRoutes(app, users, accounts),
      removeOld: () => accounts.removeOld(),
    },
    {
      name: 'sessions',
      routes: (app) => sessionRoutes(app, { ...people, sessions }),
      removeOld: () =>
        Promise.all([sessions.removeOld(), challenges.removeOld()]).then(() => undefined),
    },
    { name: 'profile', routes: (app) => profileRoutes(app, profile, people) },
    {
      name: 'api-tokens',
      routes: (app) => apiTokenRoutes(app, apiTokens),
      removeOld: () => apiTokens.removeOld(),
    },
    {
      name: 'invitations',
      routes: (app) => invitationRoutes(app, invitations),
      removeOld: () => invitations.removeOld(),
    },
    {
      name: 'installation',
      routes: (app) =>
        installationRoutes(app, platform, {
          passkeys: passkeys.installation,
          provider: provider.name,
        }),
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
    { name: 'audit', routes: (app) => auditRoutes(app, audit) },
    {
      name: 'events',
      routes: (app) => eventRoutes(app, events),
      removeOld: () => events.removeOld(),
    },
    {
      name: 'overview',
      routes: (app) =>
        overviewRoutes(app, { datacenters, operations, servers, clusters, subnets, config }),
    },
    { name: 'waitlist', routes: (app) => waitlistRoutes(app, { ...platform, invitations }) },
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
    sessionParts,
    openSessions: open,
    apiTokens,
    operations,
    datacenters,
    audit,
    events,
    servers,
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
  { sessions, openSessions: open, apiTokens, events, all }: Domains,
  options: WebOptions,
): Promise<FastifyInstance> => {
  const isToken = ({ isToken: is }: UserCaller): boolean => is === true
  return buildApp({
    ...platform,
    ...options,
    authenticate: (token, request) =>
      (isApiToken(token) ? apiTokens : sessions).authenticate(token, request),
    lastProof: (sessionId) => open.lastProof(sessionId),
    lapsed: async (callers) => [
      ...(await open.lapsed(callers.filter((caller) => !isToken(caller)))),
      ...(await apiTokens.lapsed(callers.filter(isToken))),
    ],
    lastEvent: events.last,
    hashKey: rotationKey(platform),
    routes: all.flatMap((domain) => domain.routes ?? []),
  })
}
