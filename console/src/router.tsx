import type { PageModule } from './api/page.ts'
import { authStatus, sessionHolds, wasLoggedOut } from './api/auth.ts'
import { NotFoundPage } from './layout/frame/pages.tsx'
import { paths } from './lib/paths.ts'
import { navigate, type PageView, type Place, startRouter, whenPageShown } from './lib/router.ts'
import { isGuarded, type Match, type RouteId, routeAt, routes } from './lib/routes.ts'
import { parseSearch } from './lib/search.ts'

const incidents = () => import('./routes/incidents/incidents.ts')
const alerts = () => import('./routes/alerts/alerts.ts')
const patches = () => import('./routes/patches/patches.tsx')

/** The file of each page, fetched when it is needed. */
const pages: { readonly [Id in RouteId]: () => Promise<PageModule<Id>> } = {
  '/': () => import('./routes/index.tsx'),
  '/auth/login': () => import('./routes/auth.login.tsx'),
  '/auth/reset': () => import('./routes/auth.reset.tsx'),
  '/auth/invite': () => import('./routes/people/auth.invite.tsx'),
  '/auth/callback': () => import('./routes/people/auth.callback.tsx'),
  '/infra/datacenters': () => import('./routes/infra.datacenters.tsx'),
  '/infra/servers': () => import('./routes/infra.servers.tsx'),
  '/infra/servers/prepare-image': () => import('./routes/infra.servers.prepare-image.tsx'),
  '/infra/servers/join-tokens': () => import('./routes/infra.servers.join-tokens.tsx'),
  '/infra/servers/bmcs': () => import('./routes/bmcs/infra.servers.bmcs.tsx'),
  '/infra/servers/$id': () => import('./routes/infra.servers.$id.tsx'),
  '/infra/servers/$id/create-patch': () => import('./routes/infra.servers.$id.create-patch.tsx'),
  '/infra/servers/$id/patches/$patchId': () =>
    import('./routes/infra.servers.$id.patches.$patchId.tsx'),
  '/infra/clusters': () => import('./routes/infra.clusters.tsx'),
  '/infra/clusters/create': () => import('./routes/infra.clusters.create.tsx'),
  '/infra/clusters/import': () => import('./routes/infra.clusters.import.tsx'),
  '/infra/clusters/$id': () => import('./routes/infra.clusters.$id.tsx'),
  '/infra/clusters/$id/change/$kind': () => import('./routes/infra.clusters.$id.change.$kind.tsx'),
  '/infra/racks': () => import('./routes/racks/infra.racks.tsx'),
  '/infra/racks/$id': () => import('./routes/racks/infra.racks.$id.tsx'),
  '/infra/templates': async () => (await patches()).templates,
  '/infra/patches': async () => (await patches()).list,
  '/infra/patches/create': async () => (await patches()).create,
  '/infra/patches/$id': async () => (await patches()).one,
  '/infra/patches/$id/edit': async () => (await patches()).edit,
  '/infra/network': () => import('./routes/infra.network.tsx'),
  '/infra/network/add-subnet': () => import('./routes/infra.network.add-subnet.tsx'),
  '/infra/network/assign-subnets': () => import('./routes/infra.network.assign-subnets.tsx'),
  '/infra/network/$id/edit': () => import('./routes/infra.network.$id.edit.tsx'),
  '/incidents': async () => (await incidents()).list,
  '/incidents/$id': async () => (await incidents()).one,
  '/findings': async () => (await incidents()).findings,
  '/operations': () => import('./routes/operations.tsx'),
  '/operations/$id': () => import('./routes/operations.$id.tsx'),
  '/profile': () => import('./routes/people/profile.tsx'),
  '/admin/users': () => import('./routes/people/admin.users.tsx'),
  '/admin/invitations': () => import('./routes/people/admin.invitations.tsx'),
  '/admin/waitlist': () => import('./routes/people/admin.waitlist.tsx'),
  '/admin/sessions': () => import('./routes/people/admin.sessions.tsx'),
  '/admin/backups': () => import('./routes/storage/admin.backups.tsx'),
  '/alerts/channels': async () => (await alerts()).channels,
  '/alerts/rules': async () => (await alerts()).rules,
  '/alerts/silences': async () => (await alerts()).silences,
  '/alerts/deliveries': async () => (await alerts()).deliveries,
  '/admin/stores': () => import('./routes/storage/admin.stores.tsx'),
  '/admin/tokens': () => import('./routes/people/admin.tokens.tsx'),
  '/history': async () => (await incidents()).history,
  '/audit': () => import('./routes/audit.tsx'),
  '/marketplace': () => import('./routes/marketplace.ccs.tsx'),
  '/marketplace/ccs': () => import('./routes/marketplace.ccs.tsx'),
  '/marketplace/ccs/$id': () => import('./routes/marketplace.ccs.$id.tsx'),
}

/**
 * Loads the page of a route, and waits for the page's `load`. The code of the query cache is loaded
 * with the first page that has a `load`.
 */
async function pageOf({ id, params }: Match, search: Place['search']): Promise<PageView> {
  const { load, Page } = await pages[id]()
  if (load !== undefined) {
    const { queryClient } = await import('./api/query.ts')
    await load({ params, search, client: queryClient } as never)
  }
  return Page as PageView
}

/**
 * Loads the page of a URL, or redirects. Most pages are for signed-in users (`isGuarded`). While
 * the session is being validated, the guard lets the user in. The guard runs again after the
 * validation.
 */
async function open({
  pathname,
  search,
  match,
  href,
}: Place): ReturnType<Parameters<typeof startRouter>[0]> {
  if (pathname === paths.signIn && authStatus.get() === 'signedIn') return { redirect: paths.home }
  if (isGuarded(pathname) && !(await sessionHolds()))
    return { redirect: paths.signIn, ...(!wasLoggedOut() && { from: href }) }
  if (/^\/infra\/?$/i.test(pathname)) return { redirect: paths.datacenters() }
  if (match?.id === '/marketplace') return { redirect: paths.ccs(search) }
  if (/^\/admin\/?$/i.test(pathname)) return { redirect: paths.users() }
  if (/^\/alerts\/?$/i.test(pathname)) return { redirect: paths.channels() }
  return { Page: match === null ? NotFoundPage : await pageOf(match, search) }
}

/** Starts the router, and handles clicks on links. */
export function followPlace(): void {
  startRouter(open)
  followLinks()
}

/** The link on which an event happened, if it leads to a page of the console in this tab. */
function ourLink(event: Event): HTMLAnchorElement | null {
  const link =
    event.target instanceof Element ? event.target.closest<HTMLAnchorElement>('a[href]') : null
  if (
    link === null ||
    link.origin !== location.origin ||
    link.target !== '' ||
    link.hasAttribute('download') ||
    /^\/(?:v1|docs|cli)(?:\/|$)/.test(link.pathname)
  )
    return null
  return link
}

/**
 * Moves the focus to the new page when no element has the focus any more: at once, or after a menu
 * or dialog has closed. Without this, keyboard users would continue at the top of the frame. If the
 * user presses a key or a button meanwhile, the focus is not moved.
 */
function takeFocus(): void {
  const look = () => {
    if (document.activeElement !== document.body) return
    end()
    document.querySelector<HTMLElement>('#content')?.focus({ preventScroll: true })
  }
  const changes = new MutationObserver(look)
  const pressed = new AbortController()
  const end = () => {
    changes.disconnect()
    pressed.abort()
  }
  for (const press of ['keydown', 'pointerdown'])
    document.addEventListener(press, end, { capture: true, signal: pressed.signal })
  changes.observe(document.body, { childList: true, subtree: true })
  look()
}

/**
 * Lets the router handle plain links, so that UI components needn't know the router. A link with
 * `data-replace` replaces the history entry. The page of a link under the pointer is preloaded.
 */
function followLinks(): void {
  document.addEventListener('click', (event) => {
    if (
      event.defaultPrevented ||
      event.button !== 0 ||
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey ||
      event.altKey
    )
      return
    const link = ourLink(event)
    if (link === null) return
    event.preventDefault()
    void navigate(link.pathname + link.search + link.hash, {
      replace: link.dataset['replace'] !== undefined,
    })
  })
  let resting = 0
  document.addEventListener('pointerover', (event) => {
    clearTimeout(resting)
    const link = ourLink(event)
    const match = link === null ? null : routeAt(link.pathname)
    if (link === null || match === null) return
    const search = routes[match.id].search(parseSearch(link.search))
    resting = window.setTimeout(() => void pageOf(match, search).catch(() => undefined), 60)
  })
  // A new page starts at its top. After Back the browser restores the scroll position.
  whenPageShown(({ first, back }) => {
    if (!back) scrollTo(0, 0)
    if (!first) takeFocus()
  })
}
