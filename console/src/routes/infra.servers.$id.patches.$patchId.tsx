import type { Load, PageProps } from '../api/page.ts'
import { patchesQuery, patchQuery } from '../features/patches/patch-queries.ts'
import { PatchEditor } from '../features/patches/PatchEditor.tsx'
import { PatchPlace } from '../features/patches/PatchPlace.tsx'
import { serverQueryOf } from '../api/one-server.ts'
import { ServerPlace } from '../features/servers/page/ServerPlace.tsx'

export const load: Load<'/infra/servers/$id/patches/$patchId'> = async ({ params, client }) => {
  const { id, patchId } = params
  void client.prefetchQuery(serverQueryOf(id))
  void client.prefetchQuery(patchQuery(id, patchId))
  void client.prefetchQuery(patchesQuery(id))
}

export function Page({
  params: { id, patchId },
}: PageProps<'/infra/servers/$id/patches/$patchId'>) {
  return (
    <ServerPlace key={id} id={id}>
      {(server) => (
        <PatchPlace key={patchId} serverId={id} patchId={patchId}>
          {(patch, newest) => <PatchEditor server={server} patch={patch} newest={newest} />}
        </PatchPlace>
      )}
    </ServerPlace>
  )
}
