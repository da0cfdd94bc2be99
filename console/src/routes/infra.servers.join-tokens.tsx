// Query · loader · page.
import type { Load, PageProps } from '../api/page.ts'
import { JoinTokensPage } from '../features/join-tokens/JoinTokensPage.tsx'
import { tokensQuery } from '../features/join-tokens/token-queries.ts'

// Not awaited: the page shows the shape of what comes, and its error in its place.
export const load: Load<'/infra/servers/join-tokens'> = async ({ search, client }) => {
  void client.prefetchQuery(tokensQuery(search))
}

export function Page({ search, setSearch }: PageProps<'/infra/servers/join-tokens'>) {
  return <JoinTokensPage search={search} setSearch={setSearch} />
}
