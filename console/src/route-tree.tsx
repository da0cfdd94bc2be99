// The URL tree: path, search params, crumb and guard of every page. What a page fetches and shows is in its file under routes/, which is loaded when it is needed.
import { createRootRoute, createRoute, lazyRouteComponent, redirect } from '@tanstack/react-router'
import type { ComponentType } from 'react'
import type { Load } from './api/page.ts'
import { authStatus, sessionHolds, wasLoggedOut } from './api/auth.ts'
import { RootFrame } from './layout/RootFrame.tsx'
import { texts } from './lib/search.ts'

/** A fixed text, or one that is read from what the page has fetched. */
export type Crumb =
  | string
  | ((params: Record<string, string>) => { key: readonly unknown[]; read: (data: unknown) => string | undefined; fallback: string } | string)

declare module '@tanstack/react-router' {
  interface StaticDataRouteOption {
    crumb?: Crumb
  }
  interface HistoryState {
    /** Where a guard sent the person away from. */
    from?: string
  }
}

interface PageModule {
  load?: Load
  Page: ComponentType
}

const noSearch = (): Record<string, string | undefined> => ({})

/**
 * Loader and component of a page: its code and its data are fetched side by side. The query cache comes with the first page that needs it.
 * A change of the search params alone loads beside the page that stands: as a dependency of the loader (`loaderDeps`) it would be another page to the router,
 * which on a slow line puts the pending page in its place and so drops what was typed and where the focus was.
 */
const page = (importer: () => Promise<PageModule>) => ({
  loader: async ({ params, location }: { params: unknown; location: { search: object } }) => {
    const { load } = await importer()
    if (load === undefined) return
    const { queryClient } = await import('./api/query.ts')
    await load({ params: params as Record<string, string>, search: location.search as Record<string, string | undefined>, client: queryClient })
  },
  component: lazyRouteComponent(importer, 'Page'),
})

const rootRoute = createRootRoute({ component: RootFrame })

const homeRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/',
  validateSearch: noSearch,
  staticData: { crumb: 'Overview' },
  ...page(() => import('./routes/index.tsx')),
})

const signInRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/auth/login',
  validateSearch: texts('error'),
  beforeLoad: () => {
    if (authStatus.get() === 'signedIn') throw redirect({ to: '/', replace: true })
  },
  ...page(() => import('./routes/auth.login.tsx')),
})

const setPasswordRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/auth/reset',
  validateSearch: noSearch,
  ...page(() => import('./routes/auth.reset.tsx')),
})

/** Everything below /infra is for signed-in people. While the session is being validated the guard lets in; it is asked again when the answer is there. */
const infraRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/infra',
  beforeLoad: async ({ location }) => {
    if (!(await sessionHolds())) throw redirect({ to: '/auth/login', replace: true, state: wasLoggedOut() ? {} : { from: location.href } })
  },
})

const infraIndexRoute = createRoute({
  getParentRoute: () => infraRoute,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/infra/datacenters', replace: true })
  },
})

const datacentersRoute = createRoute({
  getParentRoute: () => infraRoute,
  path: '/datacenters',
  validateSearch: texts('q', 'sort', 'page', 'size'),
  staticData: { crumb: 'Datacenters' },
  ...page(() => import('./routes/infra.datacenters.tsx')),
})

const serversRoute = createRoute({ getParentRoute: () => infraRoute, path: '/servers', staticData: { crumb: 'Servers' } })

const serverListRoute = createRoute({
  getParentRoute: () => serversRoute,
  path: '/',
  validateSearch: texts('cluster', 'nodeType', 'q', 'status', 'datacenter', 'reachable', 'confirmed', 'sort', 'page', 'size', 'add'),
  ...page(() => import('./routes/infra.servers.tsx')),
})

const prepareImageRoute = createRoute({
  getParentRoute: () => serversRoute,
  path: '/prepare-image',
  validateSearch: texts('token', 'image', 'page'),
  staticData: { crumb: 'Talos OS Image Configuration' },
  ...page(() => import('./routes/infra.servers.prepare-image.tsx')),
})

const joinTokensRoute = createRoute({
  getParentRoute: () => serversRoute,
  path: '/join-tokens',
  validateSearch: texts('q', 'status', 'sort', 'page', 'size'),
  staticData: { crumb: 'Join Tokens' },
  ...page(() => import('./routes/infra.servers.join-tokens.tsx')),
})

const serverRoute = createRoute({
  getParentRoute: () => serversRoute,
  path: '/$id',
  staticData: {
    crumb: (params) => ({
      key: ['serverGet', { params: { id: params['id'] } }],
      read: (data) => (data as { name?: string }).name,
      fallback: params['id'] ?? '',
    }),
  },
})

const serverIndexRoute = createRoute({
  getParentRoute: () => serverRoute,
  path: '/',
  validateSearch: texts('tab', 'q', 'sort'),
  ...page(() => import('./routes/infra.servers.$id.tsx')),
})

const createPatchRoute = createRoute({
  getParentRoute: () => serverRoute,
  path: '/create-patch',
  validateSearch: noSearch,
  staticData: { crumb: 'Create Patch' },
  ...page(() => import('./routes/infra.servers.$id.create-patch.tsx')),
})

const patchRoute = createRoute({
  getParentRoute: () => serverRoute,
  path: '/patches/$patchId',
  validateSearch: noSearch,
  staticData: { crumb: (params) => `Edit Patch ${params['patchId']}` },
  ...page(() => import('./routes/infra.servers.$id.patches.$patchId.tsx')),
})

const clustersRoute = createRoute({ getParentRoute: () => infraRoute, path: '/clusters', staticData: { crumb: 'Clusters' } })

const clusterListRoute = createRoute({
  getParentRoute: () => clustersRoute,
  path: '/',
  validateSearch: texts('q', 'sort', 'page', 'size'),
  ...page(() => import('./routes/infra.clusters.tsx')),
})

const createClusterRoute = createRoute({
  getParentRoute: () => clustersRoute,
  path: '/create',
  validateSearch: texts('step', 'datacenter', 'servers', 'q', 'sort'),
  staticData: { crumb: 'Create Cluster' },
  ...page(() => import('./routes/infra.clusters.create.tsx')),
})

const importClusterRoute = createRoute({
  getParentRoute: () => clustersRoute,
  path: '/import',
  validateSearch: noSearch,
  staticData: { crumb: 'Import Cluster' },
  ...page(() => import('./routes/infra.clusters.import.tsx')),
})

const clusterRoute = createRoute({
  getParentRoute: () => clustersRoute,
  path: '/$id',
  validateSearch: texts('tab', 'q', 'sort'),
  staticData: {
    crumb: (params) => ({
      key: ['clusterGet', { params: { id: params['id'] } }],
      read: (data) => (data as { name?: string }).name,
      fallback: params['id'] ?? '',
    }),
  },
  ...page(() => import('./routes/infra.clusters.$id.tsx')),
})

const networkRoute = createRoute({ getParentRoute: () => infraRoute, path: '/network', staticData: { crumb: 'Network' } })

const networkListRoute = createRoute({
  getParentRoute: () => networkRoute,
  path: '/',
  validateSearch: texts('cluster', 'q', 'datacenter', 'status', 'type', 'purpose', 'sort', 'page', 'size', 'open'),
  ...page(() => import('./routes/infra.network.tsx')),
})

const addSubnetRoute = createRoute({
  getParentRoute: () => networkRoute,
  path: '/add-subnet',
  validateSearch: texts('datacenter'),
  staticData: { crumb: 'Add Subnet' },
  ...page(() => import('./routes/infra.network.add-subnet.tsx')),
})

const assignSubnetsRoute = createRoute({
  getParentRoute: () => networkRoute,
  path: '/assign-subnets',
  validateSearch: texts('cluster', 'subnets', 'remove', 'step', 'operation'),
  staticData: { crumb: 'Assign Subnets' },
  ...page(() => import('./routes/infra.network.assign-subnets.tsx')),
})

const editSubnetRoute = createRoute({
  getParentRoute: () => networkRoute,
  path: '/$id/edit',
  validateSearch: noSearch,
  staticData: {
    crumb: (params) => ({
      key: ['subnetGet', { params: { id: params['id'] } }],
      read: (data) => `Edit ${(data as { name?: string }).name ?? 'subnet'}`,
      fallback: 'Edit Subnet',
    }),
  },
  ...page(() => import('./routes/infra.network.$id.edit.tsx')),
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
