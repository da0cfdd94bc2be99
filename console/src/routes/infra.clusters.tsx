import type { Load } from '../api/page.ts'
import { clustersQuery } from '../features/clusters/cluster-queries.ts'

// Awaited, but never throws: the page shows an error in place of the list.
export const load: Load<'/infra/clusters'> = ({ search, client }) =>
  client.prefetchQuery(clustersQuery(search))

export { ClustersPage as Page } from '../features/clusters/list/ClustersPage.tsx'
