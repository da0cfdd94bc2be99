import { useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useSyncExternalStore } from 'react'
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

/** The page's title from its route: one crumb is a heading, several are a back arrow and links. Empty while a page loads. */
export function Breadcrumbs() {
  const now = useStore(shown)
  const match = now?.match ?? null
  const places = match === null || now?.state === 'pending' ? [] : crumbsOf(match).map((place): Place => ({ ...place, params: match.params }))
  const n = useStore(pageCount)
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
      <ol>
        {places.slice(0, -1).map((place) => (
          <li key={place.href}>
            <a href={place.href}>
              <Text place={place} />
            </a>
            <span className={css['sep']} aria-hidden="true">
              ›
            </span>
          </li>
        ))}
        <li aria-current="page">
          <Text place={last} title />
        </li>
      </ol>
    </nav>
  )
}

/** The cached data of a query, updated when it changes. Only reads the cache: a query observer would change how the page's query is fetched. */
function useCached(key: readonly unknown[] | undefined): unknown {
  const client = useQueryClient()
  const subscribe = useCallback((changed: () => void) => client.getQueryCache().subscribe((event) => event.type === 'updated' && changed()), [client])
  return useSyncExternalStore(subscribe, () => (key === undefined ? undefined : client.getQueryData(key)))
}

function Text({ place, title = false }: { place: Place; title?: boolean }) {
  const { crumb, params } = place
  const data = useCached(typeof crumb === 'string' ? undefined : [crumb.query, { params: { id: params['id'] } }]) as
    | { name?: string; server?: { name: string } }
    | undefined
  const text = typeof crumb === 'string' ? crumb.replace('$patchId', params['patchId'] ?? '') : named(crumb, data?.name ?? data?.server?.name, params['id'])
  useEffect(() => {
    if (title) document.title = `${text} · Steelyard`
  }, [title, text])
  return text
}

const named = ({ shown = (name) => name, fallback }: Exclude<Crumb, string>, name: string | undefined, id = ''): string =>
  name === undefined ? (fallback ?? id) : shown(name)
