import { useQuery } from '@tanstack/react-query'
import { Suspense, useState } from 'react'
import type { SharedPatch } from '#contract/shared-patches/shared-patches.ts'
import { CallError } from '../../../api/client.ts'
import { everyCluster } from '../../../api/every.ts'
import { paths } from '../../../lib/paths.ts'
import { NotFound, Pending } from '../../../ui/feedback/PageStates.tsx'
import { SkeletonRows } from '../../../ui/feedback/States.tsx'
import { part } from '../../../ui/part.tsx'
import { patchServersQuery, sharedPatchQuery } from './shared-queries.ts'
import { sharedDraftOf } from './shared-form.ts'

// Not needed by the list and the page of a patch, which are in the same file.
const EditShared = part(() => import('./EditShared.tsx'))

const noNames = new Map<string, string>()

/** The form of a new patch. */
export const NewShared = () => (
  <EditShared patch={null} initial={sharedDraftOf(null, { clusters: noNames, servers: noNames })} />
)

/**
 * The form of a patch as it was when the page opened, so that a newer version doesn't discard typed
 * input. A notice reports the newer version and who saved it, and the user decides.
 */
export function SharedPlace({ id }: { id: string }) {
  const answer = useQuery(sharedPatchQuery(id))
  const { data: newest, error, isFetching, refetch } = answer
  const { data: clusters, isPending: isWaitingForClusters } = useQuery(everyCluster)
  const { data: servers, isPending: isWaitingForServers } = useQuery(patchServersQuery(id))
  const [opened, setOpened] = useState<SharedPatch>()
  // Waits for the fetch: a cached version may be out of date.
  if (opened === undefined && newest !== undefined && !isFetching) setOpened(newest)
  if (error instanceof CallError && error.status === 404 && opened === undefined)
    return (
      <NotFound
        noun="Shared patch"
        title={error.message}
        text="It never existed, or it was deleted."
        back={{ label: 'All shared patches', to: paths.sharedPatches() }}
      />
    )
  if (opened === undefined) return <Pending of={answer} rows={8} />
  // Names of what the targets contain.
  if (isWaitingForClusters || isWaitingForServers) return <SkeletonRows rows={8} />
  const names = {
    clusters: new Map((clusters?.items ?? []).map((one) => [one.id, one.name])),
    servers: new Map((servers?.items ?? []).map(({ server }) => [server.id, server.name])),
  }
  return (
    <Suspense fallback={<SkeletonRows rows={8} />}>
      <EditShared
        key={opened.version}
        patch={opened}
        initial={sharedDraftOf(opened, names)}
        newest={{
          newer: newest !== undefined && newest.version > opened.version,
          by: newest?.updated_by ?? null,
          look: () => void refetch(),
          takeNewest: async () => {
            const { data } = await refetch()
            if (data !== undefined) setOpened(data)
          },
        }}
      />
    </Suspense>
  )
}
