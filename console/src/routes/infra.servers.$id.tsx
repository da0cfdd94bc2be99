// The tab Patches and the drift alarm belong to other features than the server page. Features don't
// import each other, so the route combines them.
import { useQuery } from '@tanstack/react-query'
import { type ReactNode, Suspense } from 'react'
import { type Server, serverEvents } from '#contract/servers/servers.ts'
import type { Load, PageProps } from '../api/page.ts'
import { query } from '../api/query.ts'
import { DriftAlarm } from '../features/drift/DriftAlarm.tsx'
import { patchesQuery } from '../features/patches/patch-queries.ts'
import { PatchesTable } from '../features/patches/PatchesTable.tsx'
import { historyQuery } from '../features/history/history-queries.ts'
import { serverQueryOf } from '../api/one-server.ts'
import { ServerOutline, ServerPage } from '../features/servers/page/ServerPage.tsx'
import { SkeletonRows } from '../ui/feedback/States.tsx'
import { part } from '../ui/part.tsx'
import { type PowerOfServer, usePower } from '../features/power/Power.tsx'
import { ServerPlace } from '../features/servers/page/ServerPlace.tsx'

const HistoryTable = part(async () => ({
  default: (await import('../features/history/HistoryTable.tsx')).HistoryTable,
}))

export const load: Load<'/infra/servers/$id'> = async ({ params, search, client }) => {
  const { id } = params
  void client.prefetchQuery(patchesQuery(id))
  void client.prefetchQuery(serverQueryOf(id))
  if (search.tab === 'history') void client.prefetchQuery(historyQuery(search, { object: id }))
  if (search.tab === 'events') void client.prefetchQuery(query(serverEvents, { params: { id } }))
}

/** What the server's BMC says, for its page. */
function WithPower({
  server,
  children,
}: {
  server: Server
  children: (power: PowerOfServer | null) => ReactNode
}) {
  return children(usePower(server))
}

export function Page({ params: { id }, search, setSearch }: PageProps<'/infra/servers/$id'>) {
  const { data: patches } = useQuery(patchesQuery(id))
  return (
    <ServerPlace key={id} id={id} outline={ServerOutline}>
      {(server) => (
        <WithPower server={server}>
          {(power) => (
            <ServerPage
              power={power}
              server={server}
              tab={search.tab}
              above={<DriftAlarm server={server} />}
              history={
                <Suspense fallback={<SkeletonRows rows={8} />}>
                  <HistoryTable
                    search={search}
                    setSearch={setSearch}
                    subject={{ object: id }}
                    of="this server"
                  />
                </Suspense>
              }
              patchCount={patches?.total}
              patches={
                <PatchesTable
                  server={server}
                  q={search.q ?? ''}
                  sort={search.sort}
                  onQ={(q) => setSearch({ q })}
                  onSort={(sort) => setSearch({ sort })}
                />
              }
            />
          )}
        </WithPower>
      )}
    </ServerPlace>
  )
}
