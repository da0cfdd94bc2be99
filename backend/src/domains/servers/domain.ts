/** Constructs the servers domain: connections, use cases and this process's contact loop. */
import { networkInterfaces } from 'node:os'
import type { FastifyInstance } from 'fastify'
import {
  serverAdd,
  serverCommands,
  serverConfirm,
  serverEvents,
  serverGet,
  serverList,
  serverLogs,
  serverRemove,
  serverServices,
  serverTalosconfig,
  serverUpdate,
} from '#contract/servers/servers.ts'
import { machineCommandKinds } from '#contract/servers/machine-commands.ts'
import { serve, Serialised, serveStream } from '../../http/serve.ts'
import { isDatabaseGone } from '../../db/db.ts'
import type { Domain, Platform } from '../../platform.ts'
import { budget } from '../../talos-fleet/budget.ts'
import { contacts } from '../../talos-fleet/contact.ts'
import { dialPolicy } from '../../talos-fleet/dial-policy.ts'
import { type Fleet, fleet as makeFleet } from '../../talos-fleet/fleet.ts'
import { leases } from '../../talos-fleet/leases.ts'
import { pack } from './contact/observe.ts'
import type { ClusterAccess } from './for-clusters.ts'
import { type ServerParts, type Servers, servers as makeServers } from './servers.ts'

const ownAddresses = (): string[] =>
  Object.values(networkInterfaces()).flatMap((addresses) => (addresses ?? []).map((a) => a.address))
/**
 * Lifetime of the certificates for contacts, in ms. Certificates are renewed well before they
 * expire.
 */
const credentialsLifetimeMs = 3_600_000
const credentialsKeptMs = credentialsLifetimeMs / 2

export const serverFleet = ({ config }: Pick<Platform, 'config'>): Fleet =>
  makeFleet({
    policy: dialPolicy({
      networks: config.dialNetworks,
      own: ownAddresses,
      simulate: config.simulate !== undefined,
    }),
    budget: budget(),
  })

function serverRoutes(app: FastifyInstance, servers: Servers): void {
  const on = serve(app)
  on(serverList, ({ query }) =>
    servers.list(query).then(({ bytes, etag }) => new Serialised(bytes, etag)),
  )
  on(serverGet, ({ params }) => servers.get(params.id))
  on(serverAdd, ({ caller, body }) => servers.add(caller, body))
  on(serverUpdate, ({ caller, params, body, ifMatch }) =>
    servers.update(caller, params.id, body, ifMatch),
  )
  on(serverConfirm, ({ caller, params, body, ifMatch }) =>
    servers.confirm(caller, params.id, body, ifMatch),
  )
  on(serverRemove, ({ caller, params, query, ifMatch, signal }) =>
    servers.remove(caller, params.id, { force: query.force === 'true', ifMatch, signal }),
  )
  for (const kind of machineCommandKinds)
    on(serverCommands[kind], ({ caller, params }) => servers.command(caller, params.id, kind))
  on(serverServices, ({ params }) => servers.services(params.id))
  on(serverEvents, ({ params }) => servers.events(params.id))
  on(serverTalosconfig, async ({ caller, params, saveAs }) => {
    const { name, yaml } = await servers.talosconfig(caller, params.id)
    saveAs(name)
    return yaml
  })
  serveStream(app)(serverLogs, ({ params, query, signal }) =>
    servers.logs(params.id, query, signal),
  )
}

export function serverDomain(parts: ServerParts) {
  const { db, clock, random, log, owner, traffic, fleet, access } = parts
  const servers = makeServers(parts)
  const stop = new AbortController()
  let running: Promise<unknown> | undefined
  // A lost database is logged once elsewhere, not again for each contact that couldn't be written.
  const onError = (error: unknown) =>
    log[isDatabaseGone(error) ? 'debug' : 'error']('contact.failed', { error })
  const lease = leases({ db, clock, owner, onError })
  const kept = keptCredentials(access, clock)
  const contact = contacts({
    fleet,
    clock,
    random,
    quietMs: traffic.quietMs,
    roster: () => servers.roster(lease.shards()),
    credentials: kept.of,
    onRefused: kept.forget,
    pack,
    sink: servers.observe,
    onError,
  })
  const domain: Domain = {
    name: 'servers',
    routes: (app) => serverRoutes(app, servers),
    start: async () => {
      running = Promise.all([lease.run(stop.signal), contact.run(stop.signal)])
    },
    stop: async () => {
      stop.abort(new Error('Steelyard is stopping'))
      await running
    },
  }
  return { servers, domain }
}

function keptCredentials(access: ClusterAccess, clock: Platform['clock']) {
  const kept = new Map<
    string,
    { until: number; credentials: ReturnType<ClusterAccess['talosCredentials']> }
  >()
  const of = (clusterId: string): ReturnType<ClusterAccess['talosCredentials']> => {
    const now = clock.now()
    const known = kept.get(clusterId)
    if (known && known.until > now) return known.credentials
    const credentials = access.talosCredentials(clusterId, {
      role: 'os:reader',
      lifetimeMs: credentialsLifetimeMs,
    })
    kept.set(clusterId, { until: now + credentialsKeptMs, credentials })
    const forget = () => {
      if (kept.get(clusterId)?.credentials === credentials) kept.delete(clusterId)
    }
    // Missing credentials are not cached.
    credentials.then((c) => c ?? forget(), forget)
    return credentials
  }
  return { of, forget: (clusterId: string) => void kept.delete(clusterId) }
}
