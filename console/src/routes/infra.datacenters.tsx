// Query · loader · page.
import type { Load, PageProps } from '../api/page.ts'
import { DatacentersPage, datacentersQuery } from '../features/datacenters/DatacentersPage.tsx'

// Waited for, and never thrown: the page shows an error in its place.
export const load: Load<'/infra/datacenters'> = ({ search, client }) => client.prefetchQuery(datacentersQuery(search))

export function Page({ search, setSearch }: PageProps<'/infra/datacenters'>) {
  return <DatacentersPage search={search} setSearch={setSearch} />
}
