// Query · loader · page.
import { datacenterList } from '#contract/datacenters.ts'
import type { Load, PageProps } from '../api/page.ts'
import { query } from '../api/query.ts'
import { datacenterQuery, DatacentersPage } from '../features/datacenters/DatacentersPage.tsx'

// Waited for, and never thrown: the page shows an error in its place.
export const load: Load<'/infra/datacenters'> = ({ search, client }) => client.prefetchQuery(query(datacenterList, { query: datacenterQuery(search) }))

export function Page({ search, setSearch }: PageProps<'/infra/datacenters'>) {
  return <DatacentersPage search={search} setSearch={setSearch} />
}
