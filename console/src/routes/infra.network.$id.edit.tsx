import { everyDatacenter } from '../api/every.ts'
import type { Load, PageProps } from '../api/page.ts'
import { EditSubnet } from '../features/network/form/SubnetPages.tsx'
import { subnetOne } from '../features/network/network-queries.ts'

export const load: Load<'/infra/network/$id/edit'> = ({ params, client }) =>
  Promise.all([
    client.ensureQueryData(everyDatacenter),
    client.ensureQueryData(subnetOne(params.id)),
  ])

export function Page({ params: { id } }: PageProps<'/infra/network/$id/edit'>) {
  return <EditSubnet key={id} id={id} />
}
