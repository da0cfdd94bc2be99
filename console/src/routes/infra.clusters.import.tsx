import { everyDatacenter } from '../api/every.ts'
import type { Load } from '../api/page.ts'

export const load: Load<'/infra/clusters/import'> = ({ client }) =>
  client.prefetchQuery(everyDatacenter)

export { TakeoverPage as Page } from '../features/takeover/TakeoverPage.tsx'
