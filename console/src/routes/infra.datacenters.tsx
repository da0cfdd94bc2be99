import type { Load } from '../api/page.ts'
import { datacentersQuery } from '../features/datacenters/DatacentersPage.tsx'

// Awaited, but never throws: the page shows an error in place of the list.
export const load: Load<'/infra/datacenters'> = ({ search, client }) =>
  client.prefetchQuery(datacentersQuery(search))

export { DatacentersPage as Page } from '../features/datacenters/DatacentersPage.tsx'
