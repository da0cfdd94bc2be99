import { everyDatacenter } from '../api/every.ts'
import type { Load } from '../api/page.ts'
import { pause } from '../lib/pause.ts'
import { serversQuery } from '../features/servers/server-queries.ts'

/**
 * How long, in ms, the page waits for its servers. If they arrive in time, the page renders once,
 * with its rows. Otherwise it shows placeholders first.
 */
const momentMs = 150

export const load: Load<'/infra/servers'> = async ({ search, client }) => {
  const servers = client
    .ensureQueryData({ ...serversQuery(search), revalidateIfStale: true })
    .catch(() => undefined)
  void client.prefetchQuery(everyDatacenter)
  await Promise.race([servers, pause(momentMs)])
}

export { ServersPage as Page } from '../features/servers/list/ServersPage.tsx'
