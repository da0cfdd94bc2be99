import type { Load, PageProps } from '../api/page.ts'
import { patchesQuery } from '../features/patches/patch-queries.ts'
import { PatchEditor } from '../features/patches/PatchEditor.tsx'
import { serverQueryOf } from '../api/one-server.ts'
import { ServerPlace } from '../features/servers/page/ServerPlace.tsx'

export const load: Load<'/infra/servers/$id/create-patch'> = async ({ params, client }) => {
  void client.prefetchQuery(serverQueryOf(params.id))
  void client.prefetchQuery(patchesQuery(params.id))
}

export function Page({ params: { id } }: PageProps<'/infra/servers/$id/create-patch'>) {
  return (
    <ServerPlace key={id} id={id}>
      {(server) => <PatchEditor server={server} patch={null} />}
    </ServerPlace>
  )
}
