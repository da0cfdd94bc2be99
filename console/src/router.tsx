import { createRouter } from '@tanstack/react-router'
import { FailedPage, NotFoundPage, PendingPage } from './layout/frame/pages.tsx'
import { parseSearch, stringifySearch } from './lib/search.ts'
import { routeTree } from './route-tree.tsx'

export const router = createRouter({
  routeTree,
  parseSearch,
  stringifySearch,
  defaultPreload: false,
  // The query cache decides whether data is fresh.
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

/** The link on which an event happened, if it leads to a page of the console in this tab. */
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
 * Moves the focus to the new page when no element has the focus any more: at once, or after a menu or dialog has closed. Without this,
 * keyboard users would continue at the top of the frame. If the user presses a key or a button meanwhile, the focus is not moved.
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

/**
 * Lets the router handle plain links, so that UI components needn't know the router. A link with `data-replace` replaces the history entry.
 * The page of a link under the pointer is preloaded.
 */
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
  // A new page starts at its top. After Back the browser restores the scroll position.
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
