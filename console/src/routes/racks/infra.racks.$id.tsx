import type { Load, PageProps } from '../../api/page.ts'
import { inRackQuery, rackQuery } from '../../features/racks/rack-queries.ts'
import { RackPage } from '../../features/racks/RackPage.tsx'

// Awaited, but never throws: the page itself shows why its data is missing.
export const load: Load<'/infra/racks/$id'> = ({ params, client }) => {
  void client.prefetchQuery(inRackQuery(params.id))
  return client.prefetchQuery(rackQuery(params.id))
}

export const Page = ({ params: { id } }: PageProps<'/infra/racks/$id'>) => <RackPage id={id} />
