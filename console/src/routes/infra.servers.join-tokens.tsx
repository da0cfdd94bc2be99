// Query · loader · page.
import type { Load } from '../api/page.ts'
import { JoinTokensPage } from '../features/join-tokens/JoinTokensPage.tsx'
import { tokensQuery } from '../features/join-tokens/token-queries.ts'
import { useSearch } from '../lib/use-search.ts'

// Not awaited: the page shows the shape of what comes, and its error in its place.
export const load: Load = async ({ search, client }) => {
  void client.prefetchQuery(tokensQuery(search))
}

export function Page() {
  const { search, setSearch } = useSearch()
  return <JoinTokensPage search={search} onSearch={setSearch} />
}
