import { Stale } from './States.tsx'

/** Above what a query has read: that its last refresh failed, so that nobody takes it for current. */
export const StaleOf = ({
  of: { isRefetchError, dataUpdatedAt, error, refetch },
}: {
  of: {
    readonly isRefetchError: boolean
    readonly dataUpdatedAt: number
    readonly error: unknown
    readonly refetch: () => unknown
  }
}) => isRefetchError && <Stale at={dataUpdatedAt} error={error} onRetry={() => void refetch()} />
