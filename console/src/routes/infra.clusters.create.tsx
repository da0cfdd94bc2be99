// Query · loader · page.
import type { Load } from '../api/page.ts'
import { CreateCluster, datacentersQuery, versionsQuery } from '../features/clusters/CreateCluster.tsx'
import { useSearch } from '../lib/use-search.ts'

export const load: Load = ({ client }) => Promise.all([client.ensureQueryData(datacentersQuery()), client.ensureQueryData(versionsQuery())])

export function Page() {
  const { search, setSearch } = useSearch()
  return <CreateCluster search={search} setSearch={setSearch} />
}
