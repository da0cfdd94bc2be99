/** The face of the servers domain: what other domains call. */
import type { Watched } from '../../talos-fleet/contact.ts'
import type { Servers } from './api.ts'
import { commitments } from './commitments.ts'
import { observer, rosters } from './contact/observe.ts'
import { addressesOf } from './list/addresses.ts'
import { conditionsOf } from './list/conditions.ts'
import { type Catalogue, catalogue } from './list/catalogue.ts'
import { inUseOf } from './list/in-use.ts'
import { summarize, wordsByCluster } from './list/summary.ts'
import { wholeServers } from './list/whole.ts'
import { type FaceParts, membership } from './membership.ts'
import { placing } from './placing.ts'
import { boxes } from './register/boxes.ts'
import { registering } from './register/register.ts'
import { showFindings } from './showing.ts'
import * as store from './store.ts'

/** The face, and what only this domain calls. */
export interface ServersDomain extends Servers {
  /** For the contact loop of a process. */
  readonly contact: {
    readonly roster: (shards: ReadonlySet<number>) => Promise<Watched[]>
    readonly observe: ReturnType<typeof observer>
  }
  readonly listed: Catalogue
}

export function servers(parts: FaceParts): ServersDomain {
  const { db, clock, tell } = parts
  const listed = catalogue(parts)
  const rosterOf = rosters()
  const contact = {
    roster: async (shards: ReadonlySet<number>) =>
      rosterOf(await listed.entries(), listed.revision(), shards),
    observe: observer({ ...parts, known: listed.known }),
  }
  return {
    listed,
    contact,
    ...membership(parts),
    ...registering(parts),
    ...boxes(parts),
    ...commitments(parts),
    ...placing({ ...parts, listed }),
    async get(id) {
      const [server] = await wholeServers(db, [id])
      if (!server) throw store.missing(id)
      return server
    },
    several: (ids) => wholeServers(db, ids),
    idsOf: (query, most) => listed.idsOf(query, most),
    inDatacenter: async (datacenterId) =>
      wholeServers(db, await store.idsInDatacenter(db, datacenterId)),
    locked: async (tx, id) => store.live(await store.lockOne(tx, id), id),
    addresses: async () => addressesOf(await listed.entries()),
    summary: async () => summarize(await listed.entries(), clock.now()),
    wordsByCluster: async () => wordsByCluster(await listed.entries()),
    inUse: async () => inUseOf(await listed.entries()),
    conditions: async () => ({
      ...conditionsOf(await listed.entries()),
      duplicates: listed.duplicates(),
    }),
    showFindings: (tx, shown) => showFindings(parts, tx, shown),
    async patched(tx, caller, id, { count, links }) {
      const { version } = await store.update(
        tx,
        id,
        { patch_count: count, patch_links: [...links] },
        new Date(clock.now()),
      )
      await tell(tx, caller, { name: 'server.updated', object: { kind: 'server', id }, version })
    },
  }
}
