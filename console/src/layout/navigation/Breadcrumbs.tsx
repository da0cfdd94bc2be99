import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useRef, useSyncExternalStore } from 'react'
import { Skeleton } from '../../ui/feedback/States.tsx'
import { IconLink } from '../../ui/inputs/Button.tsx'
import { shown } from '../../lib/router.ts'
import { type Crumb, crumbsOf, type Match } from '../../lib/routes.ts'
import { createStore, useStore } from '../../lib/store.ts'
import css from './Breadcrumbs.module.css'

const pageCount = createStore<number | null>(null)

/** The number beside the page's title: "Servers 148". */
export function PageCount({ n }: { n: number | undefined }) {
  useEffect(() => {
    pageCount.set(n ?? null)
    return () => pageCount.set(null)
  }, [n])
  return null
}

interface Place {
  href: string
  crumb: Crumb
  params: Match['params']
}

/**
 * The page's title from its route: one crumb is a heading, several are a back arrow and links, also
 * to the page itself.
 * Empty while a page loads.
 */
export function Breadcrumbs() {
  const now = useStore(shown)
  const match = now?.match ?? null
  const places =
    match === null || now?.state === 'pending'
      ? []
      : crumbsOf(match).map((place): Place => ({ ...place, params: match.params }))
  const n = useStore(pageCount)
  const list = useRef<HTMLOListElement>(null)
  // On a narrow screen the list scrolls sideways: shows its end, the page itself, also after the
  // screen was turned.
  const showEnd = useCallback(() => list.current?.scrollTo({ left: list.current.scrollWidth }), [])
  useEffect(() => {
    window.addEventListener('resize', showEnd)
    return () => window.removeEventListener('resize', showEnd)
  }, [showEnd])
  const last = places.at(-1)
  if (last === undefined) return <div className={css['crumbs']} />
  const parent = places.at(-2)
  if (parent === undefined) {
    return (
      <div className={css['crumbs']}>
        <h1>
          <Text place={last} title />
          {n !== null && <span className={css['n']}>{n}</span>}
        </h1>
      </div>
    )
  }
  return (
    <nav className={css['crumbs']} aria-label="Breadcrumb">
      <IconLink icon="arrow-left" label="Back" href={parent.href} />
      <ol ref={list}>
        {places.slice(0, -1).map((place) => (
          <li key={place.href}>
            <a href={place.href}>
              <Text place={place} onText={showEnd} />
            </a>
            <span className={css['sep']} aria-hidden="true">
              ›
            </span>
          </li>
        ))}
        <li className={css['last']}>
          <a href={last.href} aria-current="page">
            <Text place={last} title onText={showEnd} />
          </a>
        </li>
      </ol>
    </nav>
  )
}

/**
 * What a crumb reads of an object. A capacity commitment has no name of its own: it is known by its
 * server's.
 */
interface Named {
  name?: string
  server?: { name: string }
}
const nameOf = (of: Named | undefined): string | undefined => of?.name ?? of?.server?.name

/**
 * The name of an object in the query cache: null while it is fetched, '' if it has none or could
 * not be fetched.
 */
function nameIn(
  client: QueryClient,
  { query, list }: Exclude<Crumb, string>,
  id: string,
): string | null {
  const of = client.getQueryState<Named>([query, { params: { id } }])
  if (of?.data !== undefined) return nameOf(of.data) ?? ''
  const lists = client.getQueriesData<{ items?: readonly (Named & { id: string })[] }>({
    queryKey: [list],
  })
  const listed = lists.flatMap(([, page]) => page?.items?.find((one) => one.id === id) ?? [])[0]
  return nameOf(listed) ?? (of?.status === 'error' ? '' : null)
}

/**
 * `nameIn`, updated when the cache changes. Only reads the cache: a query observer would change how
 * the page's query is fetched.
 */
function useNameIn(crumb: Crumb, id: string): string | null {
  const client = useQueryClient()
  const subscribe = useCallback(
    (changed: () => void) =>
      client.getQueryCache().subscribe((event) => event.type === 'updated' && changed()),
    [client],
  )
  return useSyncExternalStore(subscribe, () =>
    typeof crumb === 'string' ? null : nameIn(client, crumb, id),
  )
}

/** The text of a crumb; null while the name of its object is being fetched. */
function crumbText(crumb: Crumb, params: Match['params'], name: string | null): string | null {
  if (typeof crumb === 'string') return crumb.replace('$patchId', params['patchId'] ?? '')
  const { shown = (text: string) => text } = crumb
  return name === null ? null : shown(name === '' ? (params['id'] ?? '') : name)
}

/** `onText` is called when the text has changed. */
function Text({
  place,
  title = false,
  onText,
}: {
  place: Place
  title?: boolean
  onText?: () => void
}) {
  const { crumb, params } = place
  const text = crumbText(crumb, params, useNameIn(crumb, params['id'] ?? ''))
  useEffect(() => {
    if (title) document.title = text === null ? 'Steelyard' : `${text} · Steelyard`
    onText?.()
  }, [title, text, onText])
  if (text !== null) return text
  return (
    <>
      <span className="sr">Loading…</span>
      <Skeleton width={120} />
    </>
  )
}
