import type { Load } from '../api/page.ts'
import { takeoverSites } from '../features/takeover/TakeoverPage.tsx'

export const load: Load<'/infra/clusters/import'> = ({ client }) => client.prefetchQuery(takeoverSites)

export { TakeoverPage as Page } from '../features/takeover/TakeoverPage.tsx'
