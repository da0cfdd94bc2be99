import type { Load } from '../../api/page.ts'
import { racksQuery } from '../../features/racks/rack-queries.ts'

// Awaited, but never throws: the page shows an error in place of the list.
export const load: Load<'/infra/racks'> = ({ search, client }) =>
  client.prefetchQuery(racksQuery(search))

export { RacksPage as Page } from '../../features/racks/RacksPage.tsx'
