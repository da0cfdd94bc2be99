// Query · loader · page.
import { datacenterList } from '#contract/datacenters.ts'
import type { Load } from '../api/page.ts'
import { query } from '../api/query.ts'
import { datacenterQuery, DatacentersPage } from '../features/datacenters/DatacentersPage.tsx'
import { useSearch } from '../lib/use-search.ts'

// Waited for, and never thrown: the page shows an error in its place.
export const load: Load = ({ search, client }) => client.prefetchQuery(query(datacenterList, { query: datacenterQuery(search) }))

export function Page() {
  const { search, setSearch } = useSearch()
  return <DatacentersPage search={search} onSearch={setSearch} />
}
