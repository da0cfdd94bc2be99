/** Wires the servers domain: connections, use-cases and this process's contact loop. */
import { networkInterfaces } from 'node:os'
import { isDatabaseGone } from '../../db/db.ts'
import type { Domain, Platform } from '../../platform.ts'
import { budget } from '../../talos-fleet/budget.ts'
import { contacts } from '../../talos-fleet/contact.ts'
import { dialPolicy } from '../../talos-fleet/dial-policy.ts'
import { type Fleet, fleet as makeFleet } from '../../talos-fleet/fleet.ts'
import { leases } from '../../talos-fleet/leases.ts'
import type { ClusterAccess } from './for-clusters.ts'
import { serverRoutes } from './routes.ts'
import { type ServerParts, type Servers, servers as makeServers } from './servers.ts'

const ownAddresses = (): string[] => Object.values(networkInterfaces()).flatMap((addresses) => (addresses ?? []).map((a) => a.address))
/** Life of the certificates for contacts, in ms. They are renewed well before their end. */
const credentialsLifetimeMs = 3_600_000
const credentialsKeptMs = credentialsLifetimeMs / 2

export const serverFleet = ({ config }: Pick<Platform, 'config'>): Fleet =>
  makeFleet({ policy: dialPolicy({ networks: config.dialNetworks, own: ownAddresses, simulate: config.simulate !== undefined }), budget: budget() })

export interface ServerDomainParts extends Pick<ServerParts, 'operations' | 'datacenters' | 'audit' | 'access' | 'clusterUse' | 'fleet'> {
  /** Speed factor of contacts for tests; 1 in production. */
  readonly pace?: number
}

export function serverDomain(platform: Platform, parts: ServerDomainParts): { servers: Servers; domain: Domain } {
  const { db, clock, random, log, owner, engine } = platform
  const { fleet, access, pace } = parts
  const servers = makeServers({ db, clock, random, engine, recorder: platform, ...parts })
  const stop = new AbortController()
  let running: Promise<unknown> | undefined
  // A lost database is logged once elsewhere, not for each unwritten contact.
  const onError = (error: unknown) => log[isDatabaseGone(error) ? 'debug' : 'error']('contact.failed', { error })
  const lease = leases({ db, clock, owner, onError })
  const kept = keptCredentials(access, clock)
  const contact = contacts({
    fleet,
    clock,
    random,
    roster: async () => (await servers.roster()).filter((s) => lease.owns(s.id)),
    credentials: kept.of,
    onRefused: kept.forget,
    sink: (batch) => servers.observe(batch),
    onError,
    ...(pace !== undefined && { pace }),
  })
  return {
    servers,
    domain: {
      name: 'servers',
      routes: (app) => serverRoutes(app, servers),
      start: async () => {
        running = Promise.all([lease.run(stop.signal), contact.run(stop.signal)])
      },
      stop: async () => {
        stop.abort(new Error('Steelyard is stopping'))
        await running
      },
    },
  }
}

function keptCredentials(access: ClusterAccess, clock: Platform['clock']) {
  const kept = new Map<string, { until: number; credentials: ReturnType<ClusterAccess['talosCredentials']> }>()
  const of = (clusterId: string): ReturnType<ClusterAccess['talosCredentials']> => {
    const now = clock.now()
    const known = kept.get(clusterId)
    if (known && known.until > now) return known.credentials
    const credentials = access.talosCredentials(clusterId, { role: 'os:reader', lifetimeMs: credentialsLifetimeMs })
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
