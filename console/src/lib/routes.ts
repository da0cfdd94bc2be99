/**
 * Every page of the console: its path, the search params that it reads, and its crumb. What a page
 * fetches and shows is in the page's file under `routes/`.
 */
import { everyText, texts } from './search.ts'

/**
 * A breadcrumb: a text, in which `$patchId` stands for the path param, or the name of the object
 * that `query` fetches. Until then the name is taken from the lists that are cached under the key
 * `list`. An object without a name is shown by its id. `shown` formats the name.
 */
export type Crumb =
  | string
  | {
      query: 'serverGet' | 'clusterGet' | 'subnetGet' | 'ccGet' | 'rackGet' | 'sharedPatchGet'
      list: string
      shown?: (name: string) => string
    }

interface Route {
  crumb?: Crumb
  /** Keeps the search params that the page reads. */
  search: (raw: Record<string, unknown>) => Readonly<Record<string, string | undefined>>
}

const none = texts()
/** A page that reads whatever its list or tabs put into the search. */
const page = (crumb: string) => ({ crumb, search: everyText })

/**
 * The routes by path. `$id` stands for a path param. A fixed path is listed before a path with a
 * param at the same position.
 */
export const routes = {
  '/': { crumb: 'Overview', search: none },
  '/auth/login': { search: texts('error') },
  '/auth/reset': { search: none },
  '/auth/invite': { search: none },
  '/auth/callback': { search: texts('state', 'code', 'iss', 'error', 'error_description') },
  '/infra/datacenters': page('Datacenters'),
  '/infra/servers': page('Servers'),
  '/infra/servers/prepare-image': {
    crumb: 'Talos OS Image Configuration',
    search: texts('token', 'image', 'page'),
  },
  '/infra/servers/join-tokens': page('Join Tokens'),
  '/infra/servers/bmcs': page('Bare Metal by BMC'),
  '/infra/servers/$id': {
    crumb: { query: 'serverGet', list: 'servers' },
    search: everyText,
  },
  '/infra/servers/$id/create-patch': { crumb: 'Create Patch', search: none },
  '/infra/servers/$id/patches/$patchId': { crumb: 'Edit Patch $patchId', search: none },
  '/infra/clusters': page('Clusters'),
  '/infra/clusters/create': {
    crumb: 'Create Cluster',
    search: texts('step', 'servers', 'template', 'like'),
  },
  '/infra/clusters/import': { crumb: 'Import Cluster', search: none },
  '/infra/clusters/$id': {
    crumb: { query: 'clusterGet', list: 'clusterList' },
    search: everyText,
  },
  '/infra/clusters/$id/change/$kind': {
    crumb: 'Change',
    search: texts('server', 'snapshot', 'force', 'takeBack'),
  },
  '/infra/racks': page('Racks'),
  '/infra/racks/$id': { crumb: { query: 'rackGet', list: 'rackList' }, search: none },
  '/infra/templates': page('Templates'),
  '/infra/patches': page('Shared Patches'),
  '/infra/patches/create': { crumb: 'Create Patch', search: none },
  '/infra/patches/$id': {
    crumb: { query: 'sharedPatchGet', list: 'sharedPatchList' },
    search: texts('act'),
  },
  '/infra/patches/$id/edit': { crumb: 'Edit', search: none },
  '/infra/network': page('Network'),
  '/infra/network/add-subnet': { crumb: 'Add Subnet', search: texts('datacenter') },
  '/infra/network/assign-subnets': {
    crumb: 'Assign Subnets',
    search: texts('cluster', 'subnets', 'remove', 'step', 'operation'),
  },
  '/history': page('History'),
  '/incidents': page('Incidents'),
  '/incidents/$id': { crumb: 'Incident', search: none },
  '/findings': page('Findings'),
  '/operations': page('Operations'),
  '/operations/$id': { crumb: 'Operation', search: none },
  '/alerts/channels': page('Alert Channels'),
  '/alerts/rules': page('Alert Rules'),
  '/alerts/silences': page('Silences'),
  '/alerts/deliveries': page('Deliveries'),
  '/profile': page('Profile'),
  '/admin/users': page('Users'),
  '/admin/invitations': page('Invitations'),
  '/admin/waitlist': page('Waitlist'),
  '/admin/sessions': page('Sessions'),
  '/admin/backups': page('Backups'),
  '/admin/stores': page('Stores'),
  '/admin/tokens': page('API Tokens'),
  '/audit': page('Audit Log'),
  '/infra/network/$id/edit': {
    crumb: { query: 'subnetGet', list: 'subnetList', shown: (name: string) => `Edit ${name}` },
    search: none,
  },
  // Leads to its one page; see `router.tsx`.
  '/marketplace': page('Marketplace'),
  '/marketplace/ccs': page('Compute Capacity'),
  '/marketplace/ccs/$id': { crumb: { query: 'ccGet', list: 'ccList' }, search: none },
} as const satisfies Readonly<Record<`/${string}`, Route>>

/**
 * Labels of sections, by the path above their pages. A section's own path leads to its first page.
 */
export const sections = { '/infra': 'Infrastructure' } as const

export type RouteId = keyof typeof routes
type ParamIn<Path extends string> = Path extends `${infer Part}/${infer Rest}`
  ? ParamIn<Part> | ParamIn<Rest>
  : Path extends `$${infer Name}`
    ? Name
    : never
export type ParamsOf<Id extends RouteId> = Readonly<Record<ParamIn<Id>, string>>
export type SearchOf<Id extends RouteId> = ReturnType<(typeof routes)[Id]['search']>

/** The route of a path, and its params. */
export interface Match {
  readonly id: RouteId
  readonly params: Readonly<Record<string, string>>
}

const ids = Object.keys(routes) as RouteId[]

const firstPart = (pathname: string): string => (pathname.split('/')[1] ?? '').toLowerCase()

/**
 * Null for text that can't be decoded. The value is used, because the minifier removes a call of
 * `decodeURIComponent` whose value isn't.
 */
function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

/** Whether the escapes of a path are UTF-8 text. `/%ZZ` and `/%FF` are not. */
export const isReadable = (pathname: string): boolean => decoded(pathname) !== null

/**
 * The route of a path; null if no page has this path. Case and a slash at the end make no
 * difference.
 */
export function routeAt(pathname: string): Match | null {
  if (!isReadable(pathname)) return null
  const given = pathname.replace(/(.)\/$/, '$1').split('/')
  for (const id of ids) {
    const parts = id.split('/')
    const fits = (part: string, i: number) =>
      part.startsWith('$') ? given[i] !== '' : part === given[i]?.toLowerCase()
    if (parts.length !== given.length || !parts.every(fits)) continue
    return {
      id,
      params: Object.fromEntries(
        parts.flatMap((part, i) =>
          part.startsWith('$') ? [[part.slice(1), decoded(given[i]!) ?? '']] : [],
        ),
      ),
    }
  }
  return null
}

/** The path of a route with its params filled in. */
export const pathOf = (id: RouteId, params: Readonly<Record<string, string>>): string =>
  id.replaceAll(/\$(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))

/** The crumbs of a page: first those of the pages above it, except the overview, then its own. */
export const crumbsOf = ({ id, params }: Match): { href: string; crumb: Crumb }[] =>
  ids
    .filter((above) => above === id || (above !== '/' && id.startsWith(`${above}/`)))
    .toSorted((a, b) => a.length - b.length)
    .flatMap((above) => {
      const { crumb }: Route = routes[above]
      return crumb === undefined ? [] : [{ href: pathOf(above, params), crumb }]
    })

/** The first parts of the paths of pages, except the overview and the pages for visitors. */
const guarded = new Set(ids.map(firstPart).filter((part) => part !== '' && part !== 'auth'))

/** Whether a path is for signed-in users only. */
export const isGuarded = (pathname: string): boolean => guarded.has(firstPart(pathname))
