/** The joining domain: tokens, announcements, and the dialling of announced servers. */
import { Problem } from '#contract/errors.ts'
import { joinTokenEarlyLimit } from '#contract/join-tokens.ts'
import type { Domain, Platform } from '../../platform.ts'
import type { Fleet } from '../../talos-fleet/fleet.ts'
import { apiPort } from '#talos/client/connect.ts'
import type { Datacenters } from '../datacenters/api.ts'
import type { Registering } from '../servers/api.ts'
import type { Joining, KeepDocuments } from './api.ts'
import { arriving } from './arriving.ts'
import { joinRoute } from './join-route.ts'
import { refusals } from './refusals.ts'
import * as store from './store.ts'
import { joinKey } from './token-text.ts'
import { joinTokenRoutes, joinTokens } from './tokens.ts'

const dayMs = 86_400_000
/** How long refused announcements are kept, in ms. The audit log keeps them for longer. */
const refusedKeptMs = 30 * dayMs
/**
 * How long arrivals of ended tokens are kept, in ms. The audit log and the servers' rows keep their
 * results for longer.
 */
const arrivalsKeptMs = 90 * dayMs

interface JoiningParts extends Platform {
  readonly servers: Registering
  readonly datacenters: Pick<Datacenters, 'find'>
  readonly fleet: Fleet
  readonly keepDocuments: KeepDocuments
}

export function joining({
  servers,
  datacenters,
  fleet,
  keepDocuments,
  ...platform
}: JoiningParts): Joining & Domain {
  const { db, clock, engine } = platform
  const tokens = joinTokens({ ...platform, key: joinKey(platform), datacenters })
  engine.register({
    queue: store.joinQueue,
    reconcile: arriving({ ...platform, fleet, servers, keepDocuments }),
    concurrency: store.shards,
  })
  return {
    name: 'joining',
    routes: (app) => {
      joinTokenRoutes(app, tokens)
      joinRoute(app, {
        ...platform,
        refusals: refusals(platform),
        mayDial: (address) => fleet.policy.check(address, apiPort),
      })
    },
    removeOld: () =>
      store.removeOld(db, {
        refusedBefore: new Date(clock.now() - refusedKeptMs),
        tokensBefore: new Date(clock.now() - arrivalsKeptMs),
      }),
    tokenFor: (on, tokenId) => tokens.tokenFor(on, tokenId),
    async keepEarly(tx, tokenId, digest, documents) {
      if ((await store.earlyDocuments(tx, tokenId, digest)) !== undefined) return
      if ((await store.earlyCount(tx, tokenId)) >= joinTokenEarlyLimit)
        throw new Problem(
          'conflict',
          `Images with this join token have ${joinTokenEarlyLimit} different sets of documents, and more are not possible: create another token`,
          { token_id: 'The join token has too many sets of documents' },
        )
      const created_at = new Date(clock.now())
      await store.insertEarly(tx, { token_id: tokenId, digest, documents, created_at })
    },
  }
}
