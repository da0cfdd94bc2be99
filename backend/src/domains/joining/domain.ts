/** Joining as a part of the program: tokens, announcements, and the dialling of what announced itself. */
import type { Domain, Platform } from '../../parts.ts'
import type { Fleet } from '../../talos-fleet/fleet.ts'
import type { Datacenters } from '../datacenters/datacenters.ts'
import type { Servers } from '../servers/servers.ts'
import type { Joining } from './joining.ts'
import { joinTokenRoutes } from './routes.ts'
import { joinKey } from './token-text.ts'
import { joinTokens } from './tokens.ts'

export interface JoinDomainParts {
  readonly servers: Servers
  readonly datacenters: Datacenters
  readonly fleet: Fleet
}

export function joinDomain(platform: Platform, { servers, datacenters }: JoinDomainParts): { joining: Joining; domain: Domain } {
  const tokens = joinTokens({ ...platform, key: joinKey(platform), publicUrl: platform.config.publicUrl, datacenters, servers })
  return { joining: tokens, domain: { name: 'joining', routes: (app) => joinTokenRoutes(app, tokens) } }
}
