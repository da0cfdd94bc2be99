import { everyCluster, everyDatacenter } from '../api/every.ts'
import type { Load } from '../api/page.ts'
import { ccsQuery, countsQuery } from '../features/marketplace/cc-queries.ts'

// Not awaited: the page shows placeholders while its data loads, and errors in their place.
export const load: Load<'/marketplace/ccs'> = async ({ search, client }) => {
  void client.prefetchQuery(ccsQuery(search))
  void client.prefetchQuery(countsQuery(search))
  void client.prefetchQuery(everyDatacenter)
  void client.prefetchQuery(everyCluster)
}

export { CcsPage as Page } from '../features/marketplace/CcsPage.tsx'
