// Query · loader · page. The form of a new join token is a feature of its own: only the route knows both.
import { lazy, Suspense } from 'react'
import type { Load } from '../api/page.ts'
import { datacentersQuery, factoryQuery, imageQuery, imagesQuery, tokensQuery } from '../features/images/image-queries.ts'
import { type NewToken, PrepareImage } from '../features/images/PrepareImage.tsx'
import { useSearch } from '../lib/use-search.ts'

const CreateJoinToken = lazy(() => import('../features/join-tokens/CreateJoinToken.tsx'))

// Not awaited: the page can be used while its parts come.
export const load: Load = async ({ search, client }) => {
  void client.prefetchQuery(factoryQuery)
  void client.prefetchQuery(tokensQuery)
  void client.prefetchQuery(datacentersQuery)
  void client.prefetchQuery(imagesQuery(search['page']))
  if (search['image'] !== undefined) void client.prefetchQuery(imageQuery(search['image']))
}

const newToken: NewToken = (props) => (
  <Suspense fallback={null}>
    <CreateJoinToken {...props} />
  </Suspense>
)

export function Page() {
  const { search, setSearch } = useSearch()
  return <PrepareImage search={search} onSearch={setSearch} newToken={newToken} />
}
