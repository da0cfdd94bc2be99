/** The joining domain: tokens, announcements, and the dialling of announced servers. */
import type { Domain, Platform } from '../../platform.ts'
import type { Fleet } from '../../talos-fleet/fleet.ts'
import { apiPort } from '#talos/client/connect.ts'
import type { Datacenters } from '../datacenters/datacenters.ts'
import type { Servers } from '../servers/servers.ts'
import { admission } from './admission.ts'
import { arriving } from './arriving.ts'
import { directory } from './directory.ts'
import { joinRoute } from './join-route.ts'
import { refusals } from './refusals.ts'
import { joinQueue, shards } from './shards.ts'
import * as store from './store.ts'
import { joinKey } from './token-text.ts'
import { type Joining, joinTokenRoutes, joinTokens } from './tokens.ts'

const dayMs = 86_400_000
/** A refused announcement is also in the audit log, which keeps it. */
const refusedKeptMs = 30 * dayMs
/** How long arrivals of ended tokens are kept, in ms. Servers and the audit log record them too. */
const arrivalsKeptMs = 90 * dayMs

interface JoinDomainParts {
  readonly servers: Servers
  readonly datacenters: Datacenters
  readonly fleet: Fleet
}

export function joinDomain(platform: Platform, { servers, datacenters, fleet }: JoinDomainParts): { joining: Joining; domain: Domain } {
  const { db, clock, engine } = platform
  const tokens = joinTokens({ ...platform, key: joinKey(platform), datacenters, servers })
  engine.register({ queue: joinQueue, reconcile: arriving({ ...platform, fleet, servers }), concurrency: shards })
  return {
    joining: tokens,
    domain: {
      name: 'joining',
      routes: (app) => {
        joinTokenRoutes(app, tokens)
        const mayDial = (address: string) => fleet.policy.check(address, apiPort)
        joinRoute(app, { ...platform, directory: directory(db), refusals: refusals(platform), admit: admission(platform), mayDial })
      },
      removeOld: () => store.removeOld(db, { refusedBefore: new Date(clock.now() - refusedKeptMs), tokensBefore: new Date(clock.now() - arrivalsKeptMs) }),
    },
  }
}
