import type { Load } from '../api/page.ts'
import { clustersQuery } from '../features/clusters/cluster-queries.ts'

// Waited for, and never thrown: the page shows an error in its place.
export const load: Load<'/infra/clusters/'> = ({ search, client }) => client.prefetchQuery(clustersQuery(search))

export { ClustersPage as Page } from '../features/clusters/list/ClustersPage.tsx'
