import type { Scope } from '#contract/permissions.ts'
import { paths } from '../../lib/paths.ts'
import { sections } from '../../lib/routes.ts'
import type { IconName } from '../../ui/pictures/Icon.tsx'

export interface MenuEntry {
  label: string
  icon: IconName
  /** Path of a page of the console. An entry has either `path` or `href`. */
  path?: string
  /** URL of a page outside of the console. */
  href?: string
  submenu?: readonly MenuEntry[]
  /** Paths of further pages that belong to the entry. */
  also?: readonly string[]
  /** At the foot of the sidebar. */
  footer?: boolean
  /** Hidden from users without this scope. */
  capability?: Scope
  /** The number from the overview that is shown beside the entry. */
  count?: 'datacenters' | 'clusters' | 'servers'
}

/**
 * `VITE_MENU_MARKETPLACE`: `1` or `true` adds the marketplace to the menu. Default: off. The pages
 * work either way.
 */
const setting = import.meta.env.VITE_MENU_MARKETPLACE
const hasMarketplace = setting === '1' || setting === 'true'

const marketplace: MenuEntry = {
  label: 'Marketplace',
  icon: 'marketplace',
  capability: 'marketplace:read',
  submenu: [{ label: 'CCs', icon: 'marketplace', path: paths.ccs() }],
}

/** The sidebar, in the specified order. */
export const menu: readonly MenuEntry[] = [
  {
    label: 'Datacenters',
    icon: 'datacenter',
    path: paths.datacenters(),
    count: 'datacenters',
    also: [paths.racks()],
  },
  {
    label: 'Clusters',
    icon: 'cluster',
    path: paths.clusters(),
    count: 'clusters',
    also: [paths.templates(), paths.sharedPatches()],
  },
  { label: 'Servers', icon: 'server', path: paths.servers(), count: 'servers' },
  { label: 'Network', icon: 'network', path: paths.network() },
  ...(hasMarketplace ? [marketplace] : []),
]

/**
 * What is told about everything, above Log out. Phones have these pages in the profile menu: the
 * drawer lists the specified entries.
 */
export const footer: readonly MenuEntry[] = [
  {
    label: 'Incidents',
    icon: 'alert',
    path: paths.incidents(),
    also: [paths.findings()],
    footer: true,
  },
  { label: 'History', icon: 'clock', path: paths.history(), footer: true },
  { label: 'Alerts', icon: 'bell', path: paths.channels(), also: ['/alerts'], footer: true },
]

/** The entries that a user with `scopes` sees. */
export const visible = (entries: readonly MenuEntry[], scopes: readonly string[]): MenuEntry[] =>
  entries
    .filter((entry) => entry.capability === undefined || scopes.includes(entry.capability))
    .map((entry) =>
      entry.submenu === undefined ? entry : { ...entry, submenu: visible(entry.submenu, scopes) },
    )

/** The label of the section that an entry belongs to; null if it is not in a section. */
export const sectionOf = ({ path }: Pick<MenuEntry, 'path'>): string | null =>
  Object.entries(sections).find(([above]) => path?.startsWith(`${above}/`))?.[1] ?? null

/** Entries by section, in order. Each section is shown with its label above its entries. */
export const bySection = <Entry extends MenuEntry>(
  entries: readonly Entry[],
): [string | null, Entry[]][] => [...Map.groupBy(entries, sectionOf)]

/** Whether a page is at or below an entry, or belongs to it. */
export const isAt = ({ path, also = [], submenu }: MenuEntry, pathname: string): boolean =>
  [path, ...also].some((at) => at && `${pathname}/`.startsWith(`${at}/`)) ||
  Boolean(submenu?.some((below) => isAt(below, pathname)))
