import type { Load } from '../api/page.ts'
import { historyQuery } from '../features/history/history-queries.ts'

// Not awaited: the page shows placeholders while its data loads, and errors in their place.
export const load: Load<'/history'> = async ({ search, client }) => {
  void client.prefetchQuery(historyQuery(search, {}))
}

export { HistoryPage as Page } from '../features/history/HistoryTable.tsx'
