import { everyCluster } from '../api/every.ts'
import type { Load } from '../api/page.ts'

export const load: Load<'/infra/network/assign-subnets'> = ({ client }) =>
  client.ensureQueryData(everyCluster)

export { AssignSubnets as Page } from '../features/network/assign/AssignSubnets.tsx'
