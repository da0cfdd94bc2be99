// Query · loader · page.
import type { Load } from '../api/page.ts'
import { EditSubnet } from '../features/network/SubnetPages.tsx'
import { datacentersQuery, subnetOne } from '../features/network/network-queries.ts'
import { useParams } from '../lib/use-search.ts'

export const load: Load = ({ params, client }) => Promise.all([client.ensureQueryData(datacentersQuery), client.ensureQueryData(subnetOne(params['id'] ?? ''))])

export function Page() {
  const { id = '' } = useParams()
  return <EditSubnet key={id} id={id} />
}
