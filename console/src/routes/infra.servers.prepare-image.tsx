import { everyDatacenter } from '../api/every.ts'
import type { Load } from '../api/page.ts'
import {
  factoryQuery,
  imageQuery,
  imagesQuery,
  tokensQuery,
} from '../features/images/image-queries.ts'

// Not awaited: the page can be used while its data loads.
export const load: Load<'/infra/servers/prepare-image'> = async ({ search, client }) => {
  void client.prefetchQuery(factoryQuery)
  void client.prefetchQuery(tokensQuery)
  void client.prefetchQuery(everyDatacenter)
  void client.prefetchQuery(imagesQuery(search.page))
  if (search.image !== undefined) void client.prefetchQuery(imageQuery(search.image))
}

export { PrepareImage as Page } from '../features/images/PrepareImage.tsx'
