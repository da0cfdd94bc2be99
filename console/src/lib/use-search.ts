import { useNavigate, useRouter, useRouterState } from '@tanstack/react-router'
import { useCallback, useState } from 'react'
import { stringifySearch } from './search.ts'

/** As the router has them; `api/page.ts` gives each page its own names. */
type Search = Record<string, string | undefined>

/**
 * The page's search params, and a setter: undefined or '' removes one. It replaces the history entry unless `push` is set.
 * A change shows at once. The router would show it only after loading, and a controlled input would jump back until then.
 */
export function useSearch(): { search: Search; setSearch: (change: Search, how?: { push?: boolean }) => void } {
  const router = useRouter()
  // The search of the page that is shown, not of the one that is loading.
  const shown = useRouterState({ select: (state) => state.matches.at(-1)?.search })
  // Valid only on top of the search it was made on. The next search that the router shows replaces it.
  const [ahead, setAhead] = useState<{ on: object | undefined; search: Search }>()
  const setSearch = useCallback(
    (change: Search, { push = false }: { push?: boolean } = {}) => {
      const { pathname, search: now } = router.state.location
      const search = Object.fromEntries(Object.entries({ ...now, ...change }).filter(([, value]) => value !== undefined && value !== ''))
      const href = pathname + stringifySearch(search)
      const page = router.state.matches.at(-1)
      if (page?.pathname === pathname) setAhead({ on: page.search, search })
      const go = async () => {
        await router.navigate({ href, replace: !push, resetScroll: false })
        // A refused navigation (a draft that is kept) changes nothing.
        if (router.latestLocation.href !== href) setAhead(undefined)
      }
      void go()
    },
    [router],
  )
  return { search: (ahead !== undefined && ahead.on === shown ? ahead.search : shown) ?? none, setSearch }
}
const none: Search = {}

/** Goes to one of `lib/paths.ts`. */
export function useGo(): (href: string, how?: { replace?: boolean }) => Promise<void> {
  const navigate = useNavigate()
  return useCallback((href, how = {}) => navigate({ href, ...how }), [navigate])
}
