// Query · loader · page.
import type { Load } from '../api/page.ts'
import { TakeoverPage, takeoverSites } from '../features/takeover/TakeoverPage.tsx'

export const load: Load<'/infra/clusters/import'> = ({ client }) => client.prefetchQuery(takeoverSites)

export function Page() {
  return <TakeoverPage />
}
