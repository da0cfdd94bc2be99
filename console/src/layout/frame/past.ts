/** Which URLs are about a time of the past. In the first scripts, so without the code of that. */
import type { Place } from '../../lib/router.ts'

/** Overview, servers, a server, clusters and a cluster. */
const pagesWithPast = /^\/(?:infra\/(?:servers|clusters)(?:\/[\da-f]{8}-[\da-f-]{27})?)?\/?$/i

export const hasPast = (pathname: string): boolean => pagesWithPast.test(pathname)

export const isOfPast = ({ pathname, href }: Pick<Place, 'pathname' | 'href'>): boolean =>
  /[?&]at=/.test(href) && hasPast(pathname)
