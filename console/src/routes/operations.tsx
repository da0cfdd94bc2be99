import type { Load } from '../api/page.ts'
import { operationsQuery } from '../layout/operations/operation-queries.ts'

// Not awaited: the page shows placeholders while its data loads, and errors in their place.
export const load: Load<'/operations'> = async ({ search, client }) => {
  void client.prefetchQuery(operationsQuery(search))
}

export { OperationsPage as Page } from '../features/operations/OperationsPage.tsx'
