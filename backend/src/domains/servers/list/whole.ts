/** Whole servers, with their hardware, from the database. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Server } from '#contract/servers/server.ts'
import type { Db } from '../../../db/db.ts'
import { present } from '../present.ts'
import * as store from '../store.ts'

/** Number of servers per read; other requests are answered between the reads. */
const portion = 100

/**
 * The servers with these ids in this order, including removed ones; unknown ids are left out. Of ten
 * thousand servers the hardware alone is 40 MB of JSON.
 */
export async function wholeServers(db: Db, ids: readonly string[]): Promise<Server[]> {
  const found = new Map<string, Server>()
  for (let from = 0; from < ids.length; from += portion) {
    if (from > 0) await nextTurn()
    for (const { contact, ...row } of await store.withContacts(db, ids.slice(from, from + portion)))
      found.set(row.id, present(row, contact))
  }
  return ids.flatMap((id) => found.get(id) ?? [])
}
