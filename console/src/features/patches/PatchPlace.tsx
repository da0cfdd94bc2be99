import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import type { Patch } from '#contract/patches.ts'
import { CallError } from '../../api/client.ts'
import { paths } from '../../lib/paths.ts'
import { NotFound } from '../../ui/feedback/PageStates.tsx'
import { ErrorState, SkeletonRows } from '../../ui/feedback/States.tsx'
import { patchQuery } from './patch-queries.ts'

/** Whether somebody else changed the patch, and a function to continue with their version. */
export interface Newest {
  newer: boolean
  takeNewest: () => Promise<void>
}

/**
 * The patch as it was when the page opened, so that a newer version doesn't discard typed input.
 * A notice reports the newer version, and the user decides.
 */
export function PatchPlace({
  serverId,
  patchId,
  children,
}: {
  serverId: string
  patchId: string
  children: (patch: Patch, others: Newest) => ReactNode
}) {
  const { data: newest, error, isFetching, refetch } = useQuery(patchQuery(serverId, patchId))
  const [patch, setPatch] = useState<Patch>()
  // Waits for the fetch: a cached version may be out of date.
  if (patch === undefined && newest !== undefined && !isFetching) setPatch(newest)
  if (patch === undefined) {
    if (error instanceof CallError && error.status === 404)
      return (
        <NotFound
          noun="Patch"
          title={`Patch ${patchId} not found`}
          text="It may have been deleted."
          back={{ label: 'Patches of the server', to: paths.server(serverId, 'patches') }}
        />
      )
    return error === null || newest !== undefined ? (
      <SkeletonRows rows={8} />
    ) : (
      <ErrorState boxed error={error} onRetry={() => void refetch()} />
    )
  }
  const takeNewest = async () => {
    const { data } = await refetch()
    if (data !== undefined) setPatch(data)
  }
  const newer = newest !== undefined && newest.version > patch.version
  return <div key={patch.version}>{children(patch, { newer, takeNewest })}</div>
}
