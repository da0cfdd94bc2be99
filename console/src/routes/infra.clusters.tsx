// Query · loader · page.
import type { Load } from '../api/page.ts'
import { clustersQuery } from '../features/clusters/cluster-queries.ts'
import { ClustersPage } from '../features/clusters/ClustersPage.tsx'
import { useSearch } from '../lib/use-search.ts'

// Waited for, and never thrown: the page shows an error in its place.
export const load: Load = ({ search, client }) => client.prefetchQuery(clustersQuery(search))

export function Page() {
  const { search, setSearch } = useSearch()
  return <ClustersPage search={search} setSearch={setSearch} />
}
