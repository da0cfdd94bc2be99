import { everyCluster, everyDatacenter } from '../api/every.ts'
import type { Load } from '../api/page.ts'
import { mapOf, subnetsQuery } from '../features/network/network-queries.ts'

// Not awaited: the page shows placeholders while its data loads, and errors in their place.
export const load: Load<'/infra/network'> = async ({ search, client }) => {
  void client.prefetchQuery(subnetsQuery(search))
  void client.prefetchQuery(everyDatacenter)
  void client.prefetchQuery(everyCluster)
  if (search.open !== undefined) void client.prefetchQuery(mapOf(search.open))
}

export { NetworkPage as Page } from '../features/network/list/NetworkPage.tsx'
