import type { QueryClient } from '@tanstack/react-query'

/** Input of a page's `load`, which starts before the page renders. */
export interface LoadInput {
  params: Readonly<Record<string, string>>
  search: Readonly<Record<string, string | undefined>>
  client: QueryClient
}
export type Load = (input: LoadInput) => Promise<unknown>
