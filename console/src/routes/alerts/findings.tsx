import type { Load } from '../../api/page.ts'
import { findingsQuery } from '../../features/findings/finding-queries.ts'

// Not awaited: the page shows placeholders while its data loads, and errors in their place.
export const load: Load<'/findings'> = async ({ search, client }) => {
  void client.prefetchQuery(findingsQuery(search))
}

export { FindingsPage as Page } from '../../features/findings/FindingsPage.tsx'
