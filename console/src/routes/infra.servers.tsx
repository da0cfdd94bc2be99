import { everyDatacenter } from '../api/every.ts'
import type { Load } from '../api/page.ts'
import { pause } from '../lib/pause.ts'
import { serversQuery } from '../features/servers/server-queries.ts'

/** How long, in ms, the page waits for its servers. With them it renders once, without them it shows placeholders first, and errors in their place. */
const momentMs = 150

export const load: Load<'/infra/servers'> = async ({ search, client }) => {
  const servers = client.ensureQueryData({ ...serversQuery(search), revalidateIfStale: true }).catch(() => undefined)
  void client.prefetchQuery(everyDatacenter)
  await Promise.race([servers, pause(momentMs)])
}

export { ServersPage as Page } from '../features/servers/list/ServersPage.tsx'
