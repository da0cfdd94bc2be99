import type { Load, PageProps } from '../api/page.ts'
import { ChangePage } from '../features/clusters/change/ChangePage.tsx'
import { clusterOne } from '../features/clusters/cluster-queries.ts'

// Awaited, but never throws: the page itself shows why its data is missing.
export const load: Load<'/infra/clusters/$id/change/$kind'> = ({ params, client }) =>
  client.prefetchQuery(clusterOne(params.id))

export function Page({
  params: { id, kind },
  search,
}: PageProps<'/infra/clusters/$id/change/$kind'>) {
  return (
    <ChangePage
      id={id}
      kind={kind}
      server={search.server}
      snapshot={search.snapshot}
      takeBack={search.takeBack}
      isForced={search.force === 'true'}
    />
  )
}
