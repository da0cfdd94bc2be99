import type { RegisteredRouter, RouteById, RouteIds } from '@tanstack/react-router'
import { stringifySearch } from './search.ts'

type Routes = RegisteredRouter['routeTree']
type Id = RouteIds<Routes>
type Search<Of extends Id> = { [Key in keyof RouteById<Routes, Of>['types']['fullSearchSchema']]?: string | undefined }

/** The address of a route, by its id in the route tree, which types what it takes. Search params that are undefined are left out. */
function address<Of extends Id>(id: Of, params: RouteById<Routes, Of>['types']['allParams'], search: Search<Of> = {}): string {
  const path = id.replaceAll(/\$(\w+)/g, (_, name: keyof typeof params) => encodeURIComponent(String(params[name])))
  return path.replace(/(.)\/$/, '$1') + stringifySearch(search)
}
const page =
  <Of extends Id>(id: Of) =>
  (search?: Search<Of>): string =>
    address(id, {}, search)

/** Addresses of our pages: nothing else spells them. */
export const paths = {
  home: '/',
  signIn: '/auth/login',
  datacenters: page('/infra/datacenters'),
  servers: page('/infra/servers/'),
  joinTokens: page('/infra/servers/join-tokens'),
  /** `token`: the id of the join token to begin with; `image`: of the earlier image to begin with. */
  prepareImage: page('/infra/servers/prepare-image'),
  server: (id: string, tab?: string) => address('/infra/servers/$id/', { id }, { tab }),
  createPatch: (id: string) => address('/infra/servers/$id/create-patch', { id }),
  patch: (id: string, patchId: string) => address('/infra/servers/$id/patches/$patchId', { id, patchId }),
  clusters: page('/infra/clusters/'),
  createCluster: page('/infra/clusters/create'),
  importCluster: '/infra/clusters/import',
  /** `operation`: the id of the one whose timeline is shown. */
  cluster: (id: string, tab?: string, operation?: string) => address('/infra/clusters/$id', { id }, { tab, operation }),
  /** `open` is the id of the subnet whose address map is open. */
  network: page('/infra/network/'),
  addSubnet: page('/infra/network/add-subnet'),
  editSubnet: (id: string) => address('/infra/network/$id/edit', { id }),
  /** Ids, with commas between: `subnets` are given to the cluster, `remove` are taken from it. `operation`: the id of an assignment to follow. */
  assignSubnets: page('/infra/network/assign-subnets'),
} as const
