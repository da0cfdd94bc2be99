import { everyDatacenter } from '../api/every.ts'
import type { Load } from '../api/page.ts'
import { serversQuery } from '../features/servers/server-queries.ts'

// Not awaited: the page shows placeholders while its data loads, and errors in their place.
export const load: Load<'/infra/servers'> = async ({ search, client }) => {
  void client.prefetchQuery(serversQuery(search))
  void client.prefetchQuery(everyDatacenter)
}

export { ServersPage as Page } from '../features/servers/list/ServersPage.tsx'
