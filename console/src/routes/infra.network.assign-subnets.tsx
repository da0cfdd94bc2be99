// Query · loader · page.
import type { Load } from '../api/page.ts'
import { AssignSubnets } from '../features/network/AssignSubnets.tsx'
import { clustersQuery } from '../features/network/network-queries.ts'
import { useSearch } from '../lib/use-search.ts'

export const load: Load = ({ client }) => client.ensureQueryData(clustersQuery)

export function Page() {
  const { search, setSearch } = useSearch()
  return <AssignSubnets search={search} setSearch={setSearch} />
}
