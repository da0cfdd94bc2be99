// Query · loader · page.
import type { Load, PageProps } from '../api/page.ts'
import { AssignSubnets } from '../features/network/AssignSubnets.tsx'
import { clustersQuery } from '../features/network/network-queries.ts'

export const load: Load<'/infra/network/assign-subnets'> = ({ client }) => client.ensureQueryData(clustersQuery)

export function Page({ search, setSearch }: PageProps<'/infra/network/assign-subnets'>) {
  return <AssignSubnets search={search} setSearch={setSearch} />
}
