/** Queries of "Prepare image". */
import { imageFactoryGet, imageGet, imageList } from '#contract/images.ts'
import { joinTokenList } from '#contract/join-tokens.ts'
import { versionList } from '#contract/versions.ts'
import { query } from '../../api/query.ts'

/**
 * Every join token, to select a token and to show whether the tokens of earlier images are usable.
 */
export const tokensQuery = query(joinTokenList, { query: { per_page: 1000, sort: '-created_at' } })
/** Refetched on every visit, to show whether the image factory responds. */
export const factoryQuery = { ...query(imageFactoryGet), staleTime: 5_000 }
/** The versions that the image factory builds, with their support. */
export const versionsQuery = query(versionList)
export const imageQuery = (id: string) => query(imageGet, { params: { id } })

export const imagesPerPage = 10
export const imagesQuery = (page: string | undefined) =>
  query(imageList, {
    query: {
      page: /^[1-9]\d{0,4}$/.test(page ?? '') ? Number(page) : 1,
      per_page: imagesPerPage,
      sort: '-created_at',
    },
  })
