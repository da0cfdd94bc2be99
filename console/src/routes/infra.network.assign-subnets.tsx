import type { Load } from '../api/page.ts'
import { clustersQuery } from '../features/network/network-queries.ts'

export const load: Load<'/infra/network/assign-subnets'> = ({ client }) => client.ensureQueryData(clustersQuery)

export { AssignSubnets as Page } from '../features/network/assign/AssignSubnets.tsx'
