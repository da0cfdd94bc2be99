import { createRouter } from '@tanstack/react-router'
import { FailedPage, NotFoundPage, PendingPage } from './layout/frame/pages.tsx'
import { parseSearch, stringifySearch } from './lib/search.ts'
import { routeTree } from './route-tree.tsx'

export const router = createRouter({
  routeTree,
  parseSearch,
  stringifySearch,
  defaultPreload: false,
  // The query cache knows what is fresh.
  defaultPreloadStaleTime: 0,
  defaultPendingMs: 150,
  defaultPendingMinMs: 200,
  defaultPendingComponent: PendingPage,
  defaultErrorComponent: FailedPage,
  defaultNotFoundComponent: NotFoundPage,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}

/** The link that an event is about, if it leads to one of our pages in this tab. */
function ourLink(event: Event): HTMLAnchorElement | null {
  const link = event.target instanceof Element ? event.target.closest<HTMLAnchorElement>('a[href]') : null
  if (
    link === null ||
    link.origin !== location.origin ||
    link.target !== '' ||
    link.hasAttribute('download') ||
    link.pathname.startsWith('/v1/') ||
    link.pathname.startsWith('/docs/')
  )
    return null
  return link
}

/**
 * What had the focus goes with the page before, at once or when its menu or dialog has closed: the keyboard then goes on in the new page,
 * and not at the top of the frame. Whoever presses something meanwhile is elsewhere already.
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
  for (const press of ['keydown', 'pointerdown']) document.addEventListener(press, end, { capture: true, signal: pressed.signal })
  changes.observe(document.body, { childList: true, subtree: true })
  look()
}

/** Plain links are pages of the router: parts need not know it. With `data-replace` the entry in the history is replaced. What the pointer rests on is fetched ahead. */
export function followLinks(): void {
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    const link = ourLink(event)
    if (link === null) return
    event.preventDefault()
    void router.navigate({ href: link.pathname + link.search + link.hash, replace: link.dataset['replace'] !== undefined })
  })
  let resting = 0
  document.addEventListener('pointerover', (event) => {
    clearTimeout(resting)
    const link = ourLink(event)
    if (link === null) return
    resting = window.setTimeout(() => {
      const location = router.buildLocation({ to: link.pathname, search: parseSearch(link.search) } as never)
      void router.preloadRoute({ to: location.pathname, search: location.search } as never)
    }, 60)
  })
  // A new page begins at its top; going back, the browser restores where one was.
  let back = false
  window.addEventListener('popstate', () => {
    back = true
  })
  router.subscribe('onResolved', ({ pathChanged, fromLocation }) => {
    if (pathChanged && !back) scrollTo(0, 0)
    if (pathChanged && fromLocation !== undefined) takeFocus()
    back = false
  })
}
