/** Joining as a part of the program: tokens, announcements, and the dialling of what announced itself. */
import type { Domain, Platform } from '../../platform.ts'
import type { Fleet } from '../../talos-fleet/fleet.ts'
import { apiPort } from '#talos/client/connect.ts'
import type { Datacenters } from '../datacenters/datacenters.ts'
import type { Servers } from '../servers/servers.ts'
import { admission } from './admission.ts'
import { arriving } from './arriving.ts'
import { directory } from './directory.ts'
import { joinRoute } from './join-route.ts'
import type { Joining } from './joining.ts'
import { refusals } from './refusals.ts'
import { joinTokenRoutes } from './routes.ts'
import { joinQueue, shards } from './shards.ts'
import * as store from './store.ts'
import { joinKey } from './token-text.ts'
import { joinTokens } from './tokens.ts'

export interface JoinDomainParts {
  readonly servers: Servers
  readonly datacenters: Datacenters
  readonly fleet: Fleet
}

const dayMs = 86_400_000
/** A refused announcement is also in the audit log, which keeps it. */
const refusedKeptMs = 30 * dayMs
/** Of tokens that are over: who came through them is also at the servers and in the audit log. */
const arrivalsKeptMs = 90 * dayMs

export function joinDomain(platform: Platform, { servers, datacenters, fleet }: JoinDomainParts): { joining: Joining; domain: Domain } {
  const { db, clock, log, engine, record, tell, config } = platform
  const tokens = joinTokens({ db, clock, record, key: joinKey(platform), publicUrl: config.publicUrl, datacenters, servers })
  const known = directory({ db })
  const admit = admission({ db, clock, engine, tell })
  engine.register({ queue: joinQueue, reconcile: arriving({ ...platform, fleet, servers, recorder: platform }), concurrency: shards })
  return {
    joining: tokens,
    domain: {
      name: 'joining',
      routes: (app) => {
        joinTokenRoutes(app, tokens)
        joinRoute(app, {
          clock,
          log,
          directory: known,
          refusals: refusals({ db, clock, log, record }),
          admit,
          mayDial: (address) => fleet.policy.check(address, apiPort),
        })
      },
      removeOld: () => store.removeOld(db, { refusedBefore: new Date(clock.now() - refusedKeptMs), tokensBefore: new Date(clock.now() - arrivalsKeptMs) }),
    },
  }
}
