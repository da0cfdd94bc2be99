// Query · loader · page.
import type { Load, PageProps } from '../api/page.ts'
import { datacentersQuery, serversQuery } from '../features/servers/server-queries.ts'
import { ServersPage } from '../features/servers/list/ServersPage.tsx'

// Not awaited: the page shows the shape of what comes, and its error in its place.
export const load: Load<'/infra/servers/'> = async ({ search, client }) => {
  void client.prefetchQuery(serversQuery(search))
  void client.prefetchQuery(datacentersQuery)
}

export function Page({ search, setSearch }: PageProps<'/infra/servers/'>) {
  return <ServersPage search={search} setSearch={setSearch} />
}
