import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { Server } from '#contract/servers/servers.ts'
import { CallError } from '../../../api/client.ts'
import { paths } from '../../../lib/paths.ts'
import { NotFound } from '../../../ui/feedback/PageStates.tsx'
import { ErrorState, Skeleton, SkeletonRows, Stale, useSlow } from '../../../ui/feedback/States.tsx'
import { serverQueryOf } from '../server-queries.ts'
import css from './ServerPlace.module.css'

/** Loading, not-found and error states of a page about one server. */
export function ServerPlace({ id, children }: { id: string; children: (server: Server) => ReactNode }) {
  const { data: server, error, refetch, dataUpdatedAt, isRefetchError } = useQuery(serverQueryOf(id))
  if (error instanceof CallError && error.status === 404)
    return (
      <NotFound
        noun="Server"
        title={error.message}
        text="It may never have existed, or you are not allowed to see it. Removed servers are in the list under the status Deleted."
        back={{ label: 'All servers', to: paths.servers() }}
      />
    )
  if (server === undefined) return error === null ? <Shape /> : <ErrorState boxed error={error} onRetry={() => void refetch()} />
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
