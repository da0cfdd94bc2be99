import type { Load } from '../api/page.ts'
import { datacentersQuery } from '../features/datacenters/DatacentersPage.tsx'

// Waited for, and never thrown: the page shows an error in its place.
export const load: Load<'/infra/datacenters'> = ({ search, client }) => client.prefetchQuery(datacentersQuery(search))

export { DatacentersPage as Page } from '../features/datacenters/DatacentersPage.tsx'
