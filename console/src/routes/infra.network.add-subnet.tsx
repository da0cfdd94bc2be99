import type { Load, PageProps } from '../api/page.ts'
import { AddSubnet } from '../features/network/form/SubnetPages.tsx'
import { datacentersQuery } from '../features/network/network-queries.ts'

export const load: Load<'/infra/network/add-subnet'> = ({ client }) => client.ensureQueryData(datacentersQuery)

export function Page({ search }: PageProps<'/infra/network/add-subnet'>) {
  return <AddSubnet datacenter={search.datacenter} />
}
