import { useNavigate, useRouter, useRouterState } from '@tanstack/react-router'
import { useCallback } from 'react'
import { stringifySearch } from './search.ts'

type Search = Record<string, string | undefined>

/** The page's search params, and a way to change some of them: undefined or '' takes one off. Filters replace the entry in the history unless told to push. */
export function useSearch(): { search: Search; setSearch: (change: Search, how?: { push?: boolean }) => void } {
  const router = useRouter()
  // That of the page that is shown, not of the one that is being fetched.
  const search = useRouterState({ select: (state) => (state.matches.at(-1)?.search ?? {}) as Search })
  const setSearch = useCallback(
    (change: Search, { push = false }: { push?: boolean } = {}) => {
      const { pathname, search: now } = router.state.location
      const href = pathname + stringifySearch({ ...now, ...change })
      void router.navigate({ href, replace: !push, resetScroll: false })
    },
    [router],
  )
  return { search, setSearch }
}

/** The page's path params. */
export const useParams = (): Readonly<Record<string, string>> =>
  useRouterState({ select: (state) => (state.matches.at(-1)?.params ?? {}) as Record<string, string> })

/** Goes to one of `lib/paths.ts`. */
export function useGo(): (href: string, how?: { replace?: boolean }) => Promise<void> {
  const navigate = useNavigate()
  return useCallback((href, how = {}) => navigate({ href, ...how }), [navigate])
}
