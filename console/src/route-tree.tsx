// The URL tree: path, search params, crumb and guard of every page. What a page
// fetches and shows is in the page's file under routes/, which is loaded when needed.
import { type AnyRoute, createRootRoute, createRoute, lazyRouteComponent, redirect, useRouter, useRouterState } from '@tanstack/react-router'
import { useCallback, useState } from 'react'
import type { PageModule, ParamsOf, SearchOf, SetSearch } from './api/page.ts'
import { authStatus, sessionHolds, wasLoggedOut } from './api/auth.ts'
import { RootFrame } from './layout/frame/RootFrame.tsx'
import { everyText, stringifySearch, texts } from './lib/search.ts'

/**
 * A breadcrumb: a text, or the name of the object that `query` fetches. In a text, `$patchId` is replaced by the path param. `shown` formats the name.
 * Until the name is known, `fallback` is shown; without `fallback`, the id.
 */
export type Crumb = string | { query: 'serverGet' | 'clusterGet' | 'subnetGet'; shown?: (name: string) => string; fallback?: string }

declare module '@tanstack/react-router' {
  interface StaticDataRouteOption {
    crumb?: Crumb
  }
  interface HistoryState {
    /** URL that the user wanted when a guard redirected to the login page. */
    from?: string
  }
}

const noSearch = () => ({})
/** A route's place in the tree, and its crumb. */
const at = <Parent extends AnyRoute, const Path extends string>(parent: Parent, path: Path, crumb?: Crumb) => ({
  getParentRoute: () => parent,
  path,
  staticData: crumb === undefined ? {} : { crumb },
})

/**
 * The page's search params, and a setter: undefined or '' removes a param. The setter replaces the history entry unless `push` is set.
 * A change shows at once. The router would show the change only after loading, and a controlled input would jump back until then.
 */
function useSearch<Search extends object>(): { search: Search; setSearch: SetSearch<Search> } {
  const router = useRouter()
  // The search of the page that is shown, not of the page that is loading.
  const matched = useRouterState({ select: (state) => state.matches.at(-1)?.search })
  const shown = matched as Search
  // Changed params that the router doesn't show yet. Valid only while the router shows `on`; the next search that the router shows replaces them.
  const [ahead, setAhead] = useState<{ on: object | undefined; search: Search }>()
  const setSearch: SetSearch<Search> = useCallback(
    (change, { push = false } = {}) => {
      const { pathname, search: now } = router.state.location
      const search = Object.fromEntries(Object.entries({ ...now, ...change }).filter(([, value]) => value !== undefined && value !== ''))
      const href = pathname + stringifySearch(search)
      const page = router.state.matches.at(-1)
      if (page?.pathname === pathname) setAhead({ on: page.search, search: search as Search })
      const go = async () => {
        await router.navigate({ href, replace: !push, resetScroll: false })
        // The navigation was refused, because the user stays with unsaved input: drop the change.
        if (router.latestLocation.href !== href) setAhead(undefined)
      }
      void go()
    },
    [router],
  )
  return { search: ahead !== undefined && ahead.on === shown ? ahead.search : shown, setSearch }
}

/**
 * Loader and component of a page. The page's data is fetched as soon as its file has loaded. The query cache is loaded with the first page that needs it.
 * If only the search params change, the shown page stays while data loads. With the params in `loaderDeps` the router would treat a change as a new page and,
 * on a slow connection, show the pending page instead. Typed input and the focus would be lost.
 */
function page<Route extends AnyRoute>(route: Route, importer: () => Promise<PageModule<Route>>): void {
  const Page = lazyRouteComponent(importer, 'Page')
  function Shown() {
    const params = useRouterState({ select: (state) => state.matches.at(-1)?.params ?? {} })
    return <Page params={params} {...useSearch<SearchOf<Route>>()} />
  }
  route.update({
    loader: async ({ params, location }: { params: ParamsOf<Route>; location: { search: SearchOf<Route> } }) => {
      const { load } = await importer()
      if (load === undefined) return
      const { queryClient } = await import('./api/query.ts')
      await load({ params, search: location.search, client: queryClient })
    },
    component: Object.assign(Shown, { preload: Page.preload }),
  } as object)
}

const rootRoute = createRootRoute({ component: RootFrame })

const homeRoute = createRoute({ ...at(rootRoute, '/', 'Overview'), validateSearch: noSearch })

const signInRoute = createRoute({
  ...at(rootRoute, '/auth/login'),
  validateSearch: texts('error'),
  beforeLoad: () => {
    if (authStatus.get() === 'signedIn') throw redirect({ to: '/', replace: true })
  },
})

const setPasswordRoute = createRoute({ ...at(rootRoute, '/auth/reset'), validateSearch: noSearch })

/** Everything below /infra is for signed-in users. During validation of the session the guard lets the user in; the guard runs again afterwards. */
const infraRoute = createRoute({
  ...at(rootRoute, '/infra'),
  beforeLoad: async ({ location }) => {
    if (!(await sessionHolds())) throw redirect({ to: '/auth/login', replace: true, state: wasLoggedOut() ? {} : { from: location.href } })
  },
})

const infraIndexRoute = createRoute({
  ...at(infraRoute, '/'),
  beforeLoad: () => {
    throw redirect({ to: '/infra/datacenters', replace: true })
  },
})

const datacentersRoute = createRoute({ ...at(infraRoute, '/datacenters', 'Datacenters'), validateSearch: everyText })

const serversRoute = createRoute({ ...at(infraRoute, '/servers', 'Servers') })

const serverListRoute = createRoute({ ...at(serversRoute, '/'), validateSearch: everyText })

const prepareImageRoute = createRoute({
  ...at(serversRoute, '/prepare-image', 'Talos OS Image Configuration'),
  validateSearch: texts('token', 'image', 'page'),
})

const joinTokensRoute = createRoute({ ...at(serversRoute, '/join-tokens', 'Join Tokens'), validateSearch: everyText })

const serverRoute = createRoute({ ...at(serversRoute, '/$id', { query: 'serverGet' }) })

const serverIndexRoute = createRoute({ ...at(serverRoute, '/'), validateSearch: texts('tab', 'q', 'sort') })

const createPatchRoute = createRoute({ ...at(serverRoute, '/create-patch', 'Create Patch'), validateSearch: noSearch })

const patchRoute = createRoute({ ...at(serverRoute, '/patches/$patchId', 'Edit Patch $patchId'), validateSearch: noSearch })

const clustersRoute = createRoute({ ...at(infraRoute, '/clusters', 'Clusters') })

const clusterListRoute = createRoute({ ...at(clustersRoute, '/'), validateSearch: everyText })

const createClusterRoute = createRoute({
  ...at(clustersRoute, '/create', 'Create Cluster'),
  validateSearch: texts('step', 'datacenter', 'servers', 'q', 'sort'),
})

const importClusterRoute = createRoute({ ...at(clustersRoute, '/import', 'Import Cluster'), validateSearch: noSearch })

const clusterRoute = createRoute({ ...at(clustersRoute, '/$id', { query: 'clusterGet' }), validateSearch: texts('tab', 'operation', 'q', 'sort') })

const networkRoute = createRoute({ ...at(infraRoute, '/network', 'Network') })

const networkListRoute = createRoute({ ...at(networkRoute, '/'), validateSearch: everyText })

const addSubnetRoute = createRoute({ ...at(networkRoute, '/add-subnet', 'Add Subnet'), validateSearch: texts('datacenter') })

const assignSubnetsRoute = createRoute({
  ...at(networkRoute, '/assign-subnets', 'Assign Subnets'),
  validateSearch: texts('cluster', 'subnets', 'remove', 'step', 'operation'),
})

const editSubnetRoute = createRoute({
  ...at(networkRoute, '/$id/edit', { query: 'subnetGet', shown: (name) => `Edit ${name}`, fallback: 'Edit Subnet' }),
  validateSearch: noSearch,
})

export const routeTree = rootRoute.addChildren([
  homeRoute,
  signInRoute,
  setPasswordRoute,
  infraRoute.addChildren([
    infraIndexRoute,
    datacentersRoute,
    serversRoute.addChildren([serverListRoute, prepareImageRoute, joinTokensRoute, serverRoute.addChildren([serverIndexRoute, createPatchRoute, patchRoute])]),
    clustersRoute.addChildren([clusterListRoute, createClusterRoute, importClusterRoute, clusterRoute]),
    networkRoute.addChildren([networkListRoute, addSubnetRoute, assignSubnetsRoute, editSubnetRoute]),
  ]),
])

// Separate from the tree, so that a page's file can use the types of the tree.
page(homeRoute, () => import('./routes/index.tsx'))
page(signInRoute, () => import('./routes/auth.login.tsx'))
page(setPasswordRoute, () => import('./routes/auth.reset.tsx'))
page(datacentersRoute, () => import('./routes/infra.datacenters.tsx'))
page(serverListRoute, () => import('./routes/infra.servers.tsx'))
page(prepareImageRoute, () => import('./routes/infra.servers.prepare-image.tsx'))
page(joinTokensRoute, () => import('./routes/infra.servers.join-tokens.tsx'))
page(serverIndexRoute, () => import('./routes/infra.servers.$id.tsx'))
page(createPatchRoute, () => import('./routes/infra.servers.$id.create-patch.tsx'))
page(patchRoute, () => import('./routes/infra.servers.$id.patches.$patchId.tsx'))
page(clusterListRoute, () => import('./routes/infra.clusters.tsx'))
page(createClusterRoute, () => import('./routes/infra.clusters.create.tsx'))
page(importClusterRoute, () => import('./routes/infra.clusters.import.tsx'))
page(clusterRoute, () => import('./routes/infra.clusters.$id.tsx'))
page(networkListRoute, () => import('./routes/infra.network.tsx'))
page(addSubnetRoute, () => import('./routes/infra.network.add-subnet.tsx'))
page(assignSubnetsRoute, () => import('./routes/infra.network.assign-subnets.tsx'))
page(editSubnetRoute, () => import('./routes/infra.network.$id.edit.tsx'))
