// Query · loader · page.
import type { Load, PageProps } from '../api/page.ts'
import { clustersQuery } from '../features/clusters/cluster-queries.ts'
import { ClustersPage } from '../features/clusters/ClustersPage.tsx'

// Waited for, and never thrown: the page shows an error in its place.
export const load: Load<'/infra/clusters/'> = ({ search, client }) => client.prefetchQuery(clustersQuery(search))

export function Page({ search, setSearch }: PageProps<'/infra/clusters/'>) {
  return <ClustersPage search={search} setSearch={setSearch} />
}
