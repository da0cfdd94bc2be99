import { stringifySearch } from './search.ts'

const id = encodeURIComponent

/** Addresses of our pages: nothing else spells them. Search params that are undefined are left out. */
export const paths = {
  home: '/',
  signIn: '/auth/login',
  datacenters: (search: { q?: string | undefined; sort?: string | undefined } = {}) => `/infra/datacenters${stringifySearch(search)}`,
  servers: (
    search: {
      q?: string | undefined
      cluster?: string | undefined
      nodeType?: string | undefined
      status?: string | undefined
      datacenter?: string | undefined
      reachable?: string | undefined
      /** `false`: a person has yet to confirm the hardware. */
      confirmed?: string | undefined
      sort?: string | undefined
      /** Opens "Add servers" over the list. */
      add?: 'new' | undefined
    } = {},
  ) => `/infra/servers${stringifySearch(search)}`,
  joinTokens: (search: { q?: string | undefined; status?: string | undefined } = {}) => `/infra/servers/join-tokens${stringifySearch(search)}`,
  /** `token`: the id of the join token to begin with; `image`: of the earlier image to begin with. */
  prepareImage: (search: { token?: string | undefined; image?: string | undefined } = {}) => `/infra/servers/prepare-image${stringifySearch(search)}`,
  server: (serverId: string, tab?: string) => `/infra/servers/${id(serverId)}${stringifySearch({ tab })}`,
  createPatch: (serverId: string) => `/infra/servers/${id(serverId)}/create-patch`,
  patch: (serverId: string, patchId: string) => `/infra/servers/${id(serverId)}/patches/${id(patchId)}`,
  clusters: (search: { q?: string | undefined } = {}) => `/infra/clusters${stringifySearch(search)}`,
  createCluster: (search: { step?: string | undefined; datacenter?: string | undefined } = {}) => `/infra/clusters/create${stringifySearch(search)}`,
  importCluster: '/infra/clusters/import',
  /** `operation`: the id of the one whose timeline is shown. */
  cluster: (clusterId: string, tab?: string, operation?: string) => `/infra/clusters/${id(clusterId)}${stringifySearch({ tab, operation })}`,
  /** `open` is the id of the subnet whose address map is open. */
  network: (
    search: {
      q?: string | undefined
      cluster?: string | undefined
      datacenter?: string | undefined
      status?: string | undefined
      type?: string | undefined
      sort?: string | undefined
      open?: string | undefined
    } = {},
  ) => `/infra/network${stringifySearch(search)}`,
  addSubnet: (search: { datacenter?: string | undefined } = {}) => `/infra/network/add-subnet${stringifySearch(search)}`,
  editSubnet: (subnetId: string) => `/infra/network/${id(subnetId)}/edit`,
  /** Ids, with commas between: `subnets` are given to the cluster, `remove` are taken from it. */
  assignSubnets: (
    search: {
      cluster?: string | undefined
      subnets?: string | undefined
      remove?: string | undefined
      step?: string | undefined
      /** Id of an assignment that is under way, to follow it. */
      operation?: string | undefined
    } = {},
  ) => `/infra/network/assign-subnets${stringifySearch(search)}`,
} as const
