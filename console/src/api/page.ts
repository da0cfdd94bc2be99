import type { QueryClient } from '@tanstack/react-query'

/** What a page's `load` is given: it starts before the page's own code has been drawn. */
export interface LoadInput {
  params: Readonly<Record<string, string>>
  search: Readonly<Record<string, string | undefined>>
  client: QueryClient
}
export type Load = (input: LoadInput) => Promise<unknown>
