import type { Load } from '../api/page.ts'
import { tokensQuery } from '../features/join-tokens/tokens.ts'

// Not awaited: the page shows placeholders while its data loads, and errors in their place.
export const load: Load<'/infra/servers/join-tokens'> = async ({ search, client }) => {
  void client.prefetchQuery(tokensQuery(search))
}

export { JoinTokensPage as Page } from '../features/join-tokens/JoinTokensPage.tsx'
