// Query · loader · page.
import type { Load } from '../api/page.ts'
import { AddSubnet } from '../features/network/SubnetPages.tsx'
import { datacentersQuery } from '../features/network/network-queries.ts'
import { useSearch } from '../lib/use-search.ts'

export const load: Load = ({ client }) => client.ensureQueryData(datacentersQuery)

export function Page() {
  const { search } = useSearch()
  return <AddSubnet datacenter={search['datacenter']} />
}
