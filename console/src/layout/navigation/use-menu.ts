import { useQuery } from '@tanstack/react-query'
import { overviewGet } from '#contract/overview.ts'
import { query } from '../../api/query.ts'
import { heldScopes } from '../../api/session.ts'
import { place } from '../../lib/router.ts'
import { useStore } from '../../lib/store.ts'
import { footer, isAt, menu, visible } from './menu.ts'

/**
 * The menu entries that this user may see, each with its number and whether it is the current one.
 */
export function useMenu() {
  const pathname = useStore(place, (at) => at.pathname)
  const { data } = useQuery(query(overviewGet))
  const counts = {
    datacenters: data?.capacity.filter((c) => c.datacenter !== null).length,
    clusters: data?.clusters.total,
    servers: data?.servers.total,
  }
  return visible([...menu, ...footer], heldScopes() ?? []).map((entry) => ({
    ...entry,
    current: isAt(entry, pathname),
    n: entry.count && counts[entry.count],
  }))
}
export type ShownEntry = ReturnType<typeof useMenu>[number]
