// Query · loader · page.
import { useMemo } from 'react'
import type { Load } from '../api/page.ts'
import { mapOf, clustersQuery, datacentersQuery, subnetsQuery } from '../features/network/network-queries.ts'
import { readNetworkSearch } from '../features/network/network-search.ts'
import { NetworkPage } from '../features/network/NetworkPage.tsx'
import { useSearch } from '../lib/use-search.ts'

// Not awaited: the page shows the shape of what comes, and its error in its place.
export const load: Load = async ({ search, client }) => {
  void client.prefetchQuery(subnetsQuery(readNetworkSearch(search)))
  void client.prefetchQuery(datacentersQuery)
  void client.prefetchQuery(clustersQuery)
  if (search['open'] !== undefined) void client.prefetchQuery(mapOf(search['open']))
}

export function Page() {
  const { search, setSearch } = useSearch()
  return <NetworkPage search={useMemo(() => readNetworkSearch(search), [search])} setSearch={setSearch} />
}
