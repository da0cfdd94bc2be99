/**
 * The pages of shared patches and of templates of clusters. One file, because each file costs bytes
 * in the first script.
 */
import { everyCluster } from '../../api/every.ts'
import type { PageModule } from '../../api/page.ts'
import { templatesQuery } from '../../features/clusters/templates/template-queries.ts'
import { TemplatesPage } from '../../features/clusters/templates/TemplatesPage.tsx'
import {
  patchServersQuery,
  sharedPatchesQuery,
  sharedPatchQuery,
} from '../../features/patches/shared/shared-queries.ts'
import { SharedPatchesPage } from '../../features/patches/shared/SharedPatchesPage.tsx'
import { SharedPatchPage } from '../../features/patches/shared/SharedPatchPage.tsx'
import { NewShared, SharedPlace } from '../../features/patches/shared/SharedPlace.tsx'

// What is awaited never throws: the page itself shows why its data is missing.
export const list: PageModule<'/infra/patches'> = {
  load({ search, client }) {
    void client.prefetchQuery(everyCluster)
    return client.prefetchQuery(sharedPatchesQuery(search))
  },
  Page: SharedPatchesPage,
}

export const create: PageModule<'/infra/patches/create'> = { Page: NewShared }

export const one: PageModule<'/infra/patches/$id'> = {
  load({ params, client }) {
    void client.prefetchQuery(patchServersQuery(params.id))
    return client.prefetchQuery(sharedPatchQuery(params.id))
  },
  Page: ({ params: { id }, search, setSearch }) => (
    <SharedPatchPage
      key={id}
      id={id}
      act={search.act}
      onActed={() => setSearch({ act: undefined })}
    />
  ),
}

export const edit: PageModule<'/infra/patches/$id/edit'> = {
  async load({ params, client }) {
    void client.prefetchQuery(sharedPatchQuery(params.id))
    void client.prefetchQuery(patchServersQuery(params.id))
  },
  Page: ({ params: { id } }) => <SharedPlace key={id} id={id} />,
}

export const templates: PageModule<'/infra/templates'> = {
  load: ({ search, client }) => client.prefetchQuery(templatesQuery(search)),
  Page: TemplatesPage,
}
