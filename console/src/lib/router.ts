/**
 * The router: follows the browser's history, loads the page of the URL, and shows the page when it
 * has loaded.
 */
import { createBrowserHistory, type NavigationBlocker } from '@tanstack/history'
import type { ComponentType } from 'react'
import { pause } from './pause.ts'
import { type Match, routeAt, routes } from './routes.ts'
import { parseSearch, stringifySearch } from './search.ts'
import { createStore } from './store.ts'

type Search = Readonly<Record<string, string | undefined>>

/** What the URL refers to. Changes at once, before the page has loaded. */
export interface Place {
  readonly pathname: string
  /** The params that the page reads. */
  readonly search: Search
  readonly href: string
  readonly match: Match | null
  /** URL that the user wanted when a guard redirected to the login page. */
  readonly from: unknown
}

export type PageView = ComponentType<{ params: never; search: never; setSearch: never }>

/** What is shown. While a page is `pending`, its code and its data load. */
export type Shown = Pick<Place, 'pathname' | 'search' | 'match'> &
  (
    | { readonly state: 'pending' }
    | { readonly state: 'failed'; readonly error: unknown }
    | { readonly state: 'ready'; readonly Page: PageView }
  )

type Opened = { readonly Page: PageView } | { readonly redirect: string; readonly from?: string }

/** New values of some of a page's search params; undefined or '' removes a param. */
type Change<Search> = { [Key in keyof Search]?: string | undefined }
export type SetSearch<Search> = (change: Change<Search>, how?: { push?: boolean }) => void

/**
 * How long, in ms, the previous page stays while the next page loads. After that a placeholder is
 * shown, for at least `pendingMinMs`, so as not to flicker.
 */
const pendingMs = 150
const pendingMinMs = 200

const history = createBrowserHistory()

function here(): Place {
  const { pathname, search, href, state } = history.location
  const match = routeAt(pathname)
  const raw = parseSearch(search)
  return {
    pathname,
    search: match === null ? raw : routes[match.id].search(raw),
    href,
    match,
    from: (state as { from?: unknown }).from,
  }
}

export const place = createStore<Place>(here())
/** Null until the first page is shown. */
export const shown = createStore<Shown | null>(null)

let open: (place: Place) => Promise<Opened> = () =>
  Promise.reject(new Error('The router has not started'))
let run = 0
let loading: Promise<void> = Promise.resolve()

async function load(): Promise<void> {
  const mine = ++run
  const to = here()
  place.set(to)
  const now = shown.get()
  const { pathname, search, match } = to
  // If only the search params change, keep the page: a placeholder on a slow connection would
  // discard typed input and the focus.
  const stays = now?.state === 'ready' && now.pathname === pathname
  if (stays) shown.set({ ...now, search })
  let pendingSince: number | null = null
  const timer = setTimeout(() => {
    if (stays || mine !== run) return
    pendingSince = performance.now()
    shown.set({ pathname, search, match, state: 'pending' })
  }, pendingMs)
  let next: Shown
  try {
    const opened = await open(to)
    if (mine !== run) return
    if ('redirect' in opened)
      return await navigate(opened.redirect, { replace: true, from: opened.from })
    next = { pathname, search, match, state: 'ready', Page: opened.Page }
  } catch (error) {
    next = { pathname, search, match, state: 'failed', error }
  } finally {
    clearTimeout(timer)
  }
  // The first page replaces its placeholder at once, because there is no previous page.
  if (pendingSince !== null && last !== undefined)
    await pause(Math.max(0, pendingSince + pendingMinMs - performance.now()))
  // A page that was kept is not replaced, even after a failure: the page itself shows what could
  // not be fetched.
  if (mine === run && !stays) shown.set(next)
}

/** Whether the user reached the current URL by Back or Forward instead of a link. */
let back = false

/** Shows the first page. `opens` loads the page of a place, or redirects. */
export function startRouter(opens: typeof open): void {
  open = opens
  history.subscribe(({ action }) => {
    back = action.type !== 'PUSH' && action.type !== 'REPLACE'
    loading = load()
  })
  loading = load()
}

/** Runs the guards again, and loads the page again if it failed. */
export const reload = (): Promise<void> => (loading = load())

/**
 * Goes to a path and resolves when its page is shown. `from` is stored in the history entry.
 * `stays`: only the search changes, so the user isn't asked about unsaved input.
 */
export async function navigate(
  href: string,
  {
    replace = false,
    stays = false,
    from,
  }: { replace?: boolean; stays?: boolean; from?: string | undefined } = {},
): Promise<void> {
  const move = replace || href === place.get().href ? history.replace : history.push
  move(href, from === undefined ? {} : { from }, { ignoreBlocker: stays })
  await loading
}

export const goBack = (): void => history.back()

/** Changes search params of the page, at once. Replaces the history entry unless `push` is set. */
export const setSearch: SetSearch<Search> = (change, { push = false } = {}) => {
  const { pathname, search } = place.get()
  void navigate(pathname + stringifySearch({ ...search, ...change }), {
    replace: !push,
    stays: true,
  })
}

/** Calls `asks` before the user leaves the page. Returns a function that stops the calls. */
export const blockLeaving = (asks: NavigationBlocker): (() => void) => history.block(asks)

type OnPage = (how: { first: boolean; back: boolean }) => void
const onPage = new Set<OnPage>()
/** Calls `what` each time another page is shown. Returns a function that stops the calls. */
export function whenPageShown(what: OnPage): () => void {
  onPage.add(what)
  return () => void onPage.delete(what)
}

let last: string | undefined
/** Called by the frame when the page of a path is on the screen. */
export function pageShown(pathname: string): void {
  if (pathname === last) return
  const how = { first: last === undefined, back }
  last = pathname
  for (const what of onPage) what(how)
}
