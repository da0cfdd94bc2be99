/** Servers that shared patches are for and that nobody has given them yet. */
import type { Db, Tx } from '../../../db/db.ts'
import type { BehindServer } from '../api.ts'
import type { SharedStore } from './store.ts'
import { statesOf } from './targets.ts'

/** The servers of clusters that a roll-out would change. */
export async function behindOf(store: SharedStore, on: Db | Tx): Promise<BehindServer[]> {
  const patches = await store.heads(on)
  if (patches.length === 0) return []
  const servers = await store.servers(on)
  const held = Map.groupBy(await store.held(on), (row) => row.patch_id)
  const found = new Map<string, { lacks: string[]; extra: string[] }>()
  for (const patch of patches)
    for (const { server, state } of statesOf(patch, servers, held.get(patch.id) ?? [])) {
      if (state === 'current' || server.cluster_id === null) continue
      const lists = found.get(server.id) ?? { lacks: [], extra: [] }
      found.set(server.id, lists)
      lists[state === 'behind' ? 'lacks' : 'extra'].push(patch.name)
    }
  return servers.flatMap(
    ({ id, name, cluster_id, cluster_name, datacenter_id, datacenter_code }) => {
      const lists = found.get(id)
      return lists === undefined || cluster_id === null || cluster_name === null
        ? []
        : [
            {
              id,
              name,
              cluster: { id: cluster_id, name: cluster_name },
              datacenter:
                datacenter_id === null || datacenter_code === null
                  ? null
                  : { id: datacenter_id, code: datacenter_code },
              ...lists,
            },
          ]
    },
  )
}
