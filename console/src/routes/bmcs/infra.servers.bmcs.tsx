import type { Load } from '../../api/page.ts'
import { bmcsQuery } from '../../features/bmcs/BmcsPage.tsx'

// Not awaited: the page shows placeholders while its data loads, and errors in their place.
export const load: Load<'/infra/servers/bmcs'> = async ({ search, client }) => {
  void client.prefetchQuery(bmcsQuery(search))
}

export { BmcsPage as Page } from '../../features/bmcs/BmcsPage.tsx'
