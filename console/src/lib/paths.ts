import { type ParamsOf, pathOf, type RouteId, type SearchOf } from './routes.ts'
import { stringifySearch } from './search.ts'

type Search<Id extends RouteId> = { [Key in keyof SearchOf<Id>]?: string | undefined }

/** The URL of a route. Undefined search params are left out. */
const address = <Id extends RouteId>(
  id: Id,
  params: ParamsOf<Id>,
  search: Search<Id> = {},
): string => pathOf(id, params) + stringifySearch(search)
const page =
  <Id extends RouteId>(id: Id) =>
  (search: Search<Id> = {}): string =>
    pathOf(id, {}) + stringifySearch(search)

/** Paths of the console's pages. No other file spells them out. */
export const paths = {
  home: '/',
  signIn: '/auth/login',
  datacenters: page('/infra/datacenters'),
  servers: page('/infra/servers'),
  joinTokens: page('/infra/servers/join-tokens'),
  bmcs: page('/infra/servers/bmcs'),
  /**
   * `token`: id of the preselected join token; `image`: id of the earlier image that fills the
   * form.
   */
  prepareImage: page('/infra/servers/prepare-image'),
  server: (id: string, tab?: string) => address('/infra/servers/$id', { id }, { tab }),
  /** Its history in a period, in ISO 8601. */
  serverHistory: (id: string, period: { since: string; until: string }) =>
    address('/infra/servers/$id', { id }, { tab: 'history', ...period }),
  createPatch: (id: string) => address('/infra/servers/$id/create-patch', { id }),
  patch: (id: string, patchId: string) =>
    address('/infra/servers/$id/patches/$patchId', { id, patchId }),
  clusters: page('/infra/clusters'),
  createCluster: page('/infra/clusters/create'),
  importCluster: '/infra/clusters/import',
  /** `operation`: id of the operation whose timeline is shown. */
  cluster: (id: string, tab?: string, operation?: string) =>
    address('/infra/clusters/$id', { id }, { tab, operation }),
  /** Its history in a period, in ISO 8601. */
  clusterHistory: (id: string, period: { since: string; until: string }) =>
    address('/infra/clusters/$id', { id }, { tab: 'history', ...period }),
  /** `server`: id of the server whose pods are shown. */
  clusterPods: (id: string, server?: string) =>
    address('/infra/clusters/$id', { id }, { tab: 'pods', server }),
  /** The form of a change of a running cluster. `server`, `snapshot`: ids that are preselected. */
  changeCluster: (
    id: string,
    kind: string,
    chosen: { server?: string; snapshot?: string; force?: string; takeBack?: string } = {},
  ) => address('/infra/clusters/$id/change/$kind', { id, kind }, chosen),
  racks: page('/infra/racks'),
  rack: (id: string) => address('/infra/racks/$id', { id }),
  templates: page('/infra/templates'),
  sharedPatches: page('/infra/patches'),
  createSharedPatch: '/infra/patches/create',
  /** `act`: `roll-out` opens the dialog of a roll-out. */
  sharedPatch: (id: string, act?: 'roll-out') => address('/infra/patches/$id', { id }, { act }),
  editSharedPatch: (id: string) => address('/infra/patches/$id/edit', { id }),
  /** `open` is the id of the subnet whose address map is open. */
  network: page('/infra/network'),
  addSubnet: page('/infra/network/add-subnet'),
  editSubnet: (id: string) => address('/infra/network/$id/edit', { id }),
  /**
   * `subnets`: comma-separated ids to assign to the cluster; `remove`: ids to remove from the
   * cluster; `operation`: id of an assignment to show.
   */
  assignSubnets: page('/infra/network/assign-subnets'),
  history: page('/history'),
  incidents: page('/incidents'),
  incident: (id: string) => address('/incidents/$id', { id }),
  findings: page('/findings'),
  operations: page('/operations'),
  operation: (id: string) => address('/operations/$id', { id }),
  channels: page('/alerts/channels'),
  alertRules: page('/alerts/rules'),
  silences: page('/alerts/silences'),
  /** `channel`: name of the channel whose messages are shown. */
  deliveries: page('/alerts/deliveries'),
  audit: page('/audit'),
  ccs: page('/marketplace/ccs'),
  cc: (id: string) => address('/marketplace/ccs/$id', { id }),
  /** `tab`: the section of the profile. */
  profile: page('/profile'),
  users: page('/admin/users'),
  invitations: page('/admin/invitations'),
  waitlist: page('/admin/waitlist'),
  /** `user`: id of the user whose sessions are shown. */
  sessions: page('/admin/sessions'),
  apiTokens: page('/admin/tokens'),
  stores: page('/admin/stores'),
  backups: page('/admin/backups'),
} as const
