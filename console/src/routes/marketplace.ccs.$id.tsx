import type { Load, PageProps } from '../api/page.ts'
import { ccHistory, ccOne } from '../features/marketplace/cc-queries.ts'
import { CcPage } from '../features/marketplace/CcPage.tsx'

// Awaited, but never throws: the page itself shows why its data is missing.
export const load: Load<'/marketplace/ccs/$id'> = ({ params, client }) => {
  void client.prefetchQuery(ccHistory(params.id))
  return client.prefetchQuery(ccOne(params.id))
}

export const Page = ({ params: { id } }: PageProps<'/marketplace/ccs/$id'>) => <CcPage id={id} />
