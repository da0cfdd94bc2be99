import { everyDatacenter } from '../api/every.ts'
import type { Load, PageProps } from '../api/page.ts'
import { AddSubnet } from '../features/network/form/SubnetPages.tsx'

export const load: Load<'/infra/network/add-subnet'> = ({ client }) =>
  client.ensureQueryData(everyDatacenter)

export function Page({ search }: PageProps<'/infra/network/add-subnet'>) {
  return <AddSubnet datacenter={search.datacenter} />
}
