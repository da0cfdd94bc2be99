// Query · loader · page.
import type { Load, PageProps } from '../api/page.ts'
import { datacentersQuery, factoryQuery, imageQuery, imagesQuery, tokensQuery } from '../features/images/image-queries.ts'
import { PrepareImage } from '../features/images/PrepareImage.tsx'

// Not awaited: the page can be used while its parts come.
export const load: Load<'/infra/servers/prepare-image'> = async ({ search, client }) => {
  void client.prefetchQuery(factoryQuery)
  void client.prefetchQuery(tokensQuery)
  void client.prefetchQuery(datacentersQuery)
  void client.prefetchQuery(imagesQuery(search.page))
  if (search.image !== undefined) void client.prefetchQuery(imageQuery(search.image))
}

export function Page({ search, setSearch }: PageProps<'/infra/servers/prepare-image'>) {
  return <PrepareImage search={search} setSearch={setSearch} />
}
