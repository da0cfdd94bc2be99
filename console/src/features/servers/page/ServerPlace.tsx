import { useQuery } from '@tanstack/react-query'
import type { ComponentType, ReactNode } from 'react'
import type { ListedServer, Server } from '#contract/servers/servers.ts'
import { CallError } from '../../../api/client.ts'
import { listedServer, serverQueryOf } from '../../../api/one-server.ts'
import { paths } from '../../../lib/paths.ts'
import { NotFound } from '../../../ui/feedback/PageStates.tsx'
import { ErrorState, Skeleton, SkeletonRows, Stale, useSlow } from '../../../ui/feedback/States.tsx'
import css from './ServerPlace.module.css'

interface ServerPlaceProps {
  id: string
  /** What the page shows of a server that was in a list, while the server is fetched. */
  outline?: ComponentType<{ server: ListedServer }>
  children: (server: Server) => ReactNode
}

/** Loading, not-found and error states of a page about one server. */
export function ServerPlace({ id, outline: Outline, children }: ServerPlaceProps) {
  const {
    data: server,
    error,
    refetch,
    dataUpdatedAt,
    isRefetchError,
  } = useQuery(serverQueryOf(id))
  if (error instanceof CallError && error.status === 404)
    return (
      <NotFound
        noun="Server"
        title={error.message}
        text="It never existed. Removed servers are in the list under the status Deleted."
        back={{ label: 'All servers', to: paths.servers() }}
      />
    )
  if (server === undefined) {
    if (error !== null) return <ErrorState boxed error={error} onRetry={() => void refetch()} />
    const listed = Outline && listedServer(id)
    return listed ? <Outline server={listed} /> : <Shape />
  }
  return (
    <>
      {isRefetchError && (
        <div className={css['stale']}>
          <Stale at={dataUpdatedAt} error={error} onRetry={() => void refetch()} />
        </div>
      )}
      {children(server)}
    </>
  )
}

function Shape() {
  const slow = useSlow()
  return (
    <div aria-busy="true" style={{ visibility: slow ? 'visible' : 'hidden' }}>
      <div className={css['head']}>
        <Skeleton width={220} height={20} />
        <Skeleton width={110} />
      </div>
      <div className={css['facts']}>
        {[140, 90, 120, 80, 70, 60].map((width) => (
          <Skeleton key={width} width={width} height={28} />
        ))}
      </div>
      <SkeletonRows rows={5} />
    </div>
  )
}
