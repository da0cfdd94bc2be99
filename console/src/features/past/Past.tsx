/** The frame of the past: what the console shows while its URL has a time. */
import { useEffect } from 'react'
import { hasPast } from '../../layout/frame/past.ts'
import { navigate, pageShown, place as placeStore, type Place } from '../../lib/router.ts'
import { parseSearch } from '../../lib/search.ts'
import { useStore } from '../../lib/store.ts'
import { Button } from '../../ui/inputs/Button.tsx'
import { Empty } from '../../ui/feedback/States.tsx'
import { PastBar } from './PastBar.tsx'
import { PastCluster, PastClusters } from './PastClusters.tsx'
import { PastOverview } from './PastOverview.tsx'
import { PastServer, PastServers } from './PastServers.tsx'
import css from './Past.module.css'
import { change } from './past-queries.ts'

/** Links to pages with a past lead to the same time there. */
function useLinksKeepTime(at: string): void {
  useEffect(() => {
    const onClick = (event: MouseEvent) => {
      const link =
        event.target instanceof Element ? event.target.closest<HTMLAnchorElement>('a[href]') : null
      if (
        event.button !== 0 ||
        event.metaKey ||
        event.ctrlKey ||
        event.shiftKey ||
        event.altKey ||
        link === null ||
        link.origin !== location.origin ||
        link.target !== '' ||
        !hasPast(link.pathname)
      )
        return
      const params = new URLSearchParams(link.search)
      if (params.has('at')) return
      params.set('at', at)
      event.preventDefault()
      void navigate(`${link.pathname}?${params.toString()}`)
    }
    // Before the router's own listener.
    document.addEventListener('click', onClick, { capture: true })
    return () => document.removeEventListener('click', onClick, { capture: true })
  }, [at])
}

export default function Past() {
  const place = useStore(placeStore)
  const { at: given = '', ...search } = parseSearch(place.href.split('?')[1]?.split('#')[0] ?? '')
  const time = Date.parse(given)
  const at = Number.isNaN(time) ? null : new Date(time).toISOString()
  useLinksKeepTime(at ?? given)
  useEffect(() => pageShown(place.pathname), [place.pathname])
  if (at === null)
    return (
      <Empty
        boxed
        title="This link has no time that can be read"
        text={`“${given}” is no time in ISO 8601, such as 2026-11-27T02:00:00Z.`}
        actions={
          <Button kind="primary" onClick={() => change(place, { at: undefined })}>
            Back to now
          </Button>
        }
      />
    )
  return (
    <div className={css['past']}>
      <PastBar at={at} place={place} />
      <PastPage at={at} place={place} search={search} />
    </div>
  )
}

interface PageProps {
  at: string
  place: Place
  search: Readonly<Record<string, string>>
}

function PastPage({ at, place, search }: PageProps) {
  const { match } = place
  const id = match?.params['id']
  switch (match?.id) {
    case '/infra/servers':
      return <PastServers at={at} place={place} search={search} />
    case '/infra/servers/$id':
      return <PastServer at={at} id={id ?? ''} />
    case '/infra/clusters':
      return <PastClusters at={at} place={place} search={search} />
    case '/infra/clusters/$id':
      return <PastCluster at={at} id={id ?? ''} />
    default:
      return <PastOverview at={at} />
  }
}
