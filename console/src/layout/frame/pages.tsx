import type { Query, QueryClient } from '@tanstack/react-query'
import { useCallback, useEffect } from 'react'
import { liveState } from '../../api/live-state.ts'
import { undecided } from '../../api/patience.ts'
import { report } from '../../api/report.ts'
import { paths } from '../../lib/paths.ts'
import { reasonOf } from '../../lib/reason.ts'
import { isMissingCode, reloadFromServer } from '../../lib/code/release.ts'
import { goBack, place, reload } from '../../lib/router.ts'
import { isReadable } from '../../lib/routes.ts'
import { useStore } from '../../lib/store.ts'
import { clock } from '../../lib/time/clock.ts'
import { Button, ButtonLink } from '../../ui/inputs/Button.tsx'
import { SkeletonRows, StaleBand } from '../../ui/feedback/States.tsx'
import css from './pages.module.css'

/**
 * Shows that the server has not confirmed the session yet, and until when the confirmation is
 * retried.
 */
export function SessionBand() {
  const wait = useStore(undecided)
  return (
    wait && (
      <StaleBand boxed>
        Your session cannot be confirmed: {wait.reason} Steelyard tries again until{' '}
        {clock(new Date(wait.until).toISOString())}, then you are signed out. Drafts are kept.
      </StaleBand>
    )
  )
}

/** Shown while the session is validated. */
export function LoadingScreen() {
  return (
    <main className={css['loading']}>
      <h1 className="sr">Steelyard</h1>
      <p role="status">Loading...</p>
      <SessionBand />
    </main>
  )
}

/** Shown while a page's code and data load, after 150 ms. */
export function PendingPage() {
  const { state, since } = useStore(liveState)
  // The session band above already shows the reason.
  const saidAbove = useStore(undecided) !== null
  return (
    <>
      {state === 'silent' && since !== null && !saidAbove && (
        <>
          <h1 className="sr">Waiting for an answer</h1>
          <StaleBand boxed>
            Steelyard has not answered since {clock(since)}. This page is shown as soon as Steelyard
            answers.
          </StaleBand>
        </>
      )}
      <div className={css['pending']}>
        <SkeletonRows rows={10} />
      </div>
    </>
  )
}

export function NotFoundPage() {
  const { pathname } = useStore(place)
  useEffect(() => {
    document.title = 'Page Not Found · Steelyard'
  }, [])
  return (
    <section className={css['page']}>
      <p className={css['code']} aria-hidden="true">
        404
      </p>
      <h1>Page Not Found</h1>
      <p>The page you are looking for might have been removed, renamed or be unavailable.</p>
      {!isReadable(pathname) && (
        <p>
          The address cannot be read: <span className="mono">{pathname.slice(0, 200)}</span>
        </p>
      )}
      <div className={css['actions']}>
        <Button icon="arrow-left" onClick={goBack}>
          Go Back
        </Button>
        <ButtonLink kind="primary" href={paths.home}>
          Go Home
        </ButtonLink>
      </div>
    </section>
  )
}

/** Whether an error is that of a call of the API, not of code that reads its response. */
const isFailedCall = (error: unknown): error is Error & { status: unknown } =>
  error instanceof Error && 'status' in error
/** Whether an error may be temporary: no response, or a 5xx response. */
const mayPass = (error: unknown): boolean =>
  isFailedCall(error) && (error.status === 0 || Number(error.status) >= 500)
const lookAgainMs = 5_000
const failed = { predicate: (query: Query) => query.state.status === 'error' }

/** The query cache; null if its code can't be loaded. */
async function queryCache(): Promise<QueryClient | null> {
  try {
    return (await import('../../api/query.ts')).queryClient
  } catch {
    return null
  }
}

/** `reset` shows the page again. */
export function FailedPage({ error, reset }: { error: unknown; reset: () => void }) {
  useEffect(() => report(error), [error])
  const show = useCallback(async () => {
    reset()
    await reload()
  }, [reset])
  const again = async () => {
    if (isMissingCode(error) && (await reloadFromServer())) return
    // Resets the failed queries in the cache, so that the page fetches the data again. If no call
    // has failed, a cached response may be what breaks the page, so the page fetches all data again.
    const cache = await queryCache()
    if (isFailedCall(error)) await cache?.resetQueries(failed)
    else void cache?.resetQueries()
    await show()
  }
  useEffect(() => {
    if (!mayPass(error)) return undefined
    // Retries in the background. The screen changes only when there is something new to show.
    const timer = setInterval(async () => {
      if (document.hidden) return
      const cache = await queryCache()
      await cache?.refetchQueries(failed)
      if (cache?.getQueryCache().findAll(failed).length === 0) await show()
    }, lookAgainMs)
    return () => clearInterval(timer)
  }, [error, show])
  return (
    <section className={css['page']} role="alert">
      <h1>Something went wrong</h1>
      <p>{reasonOf(error)}</p>
      <div className={css['actions']}>
        <Button kind="primary" icon="refresh" onClick={() => void again()}>
          Try again
        </Button>
        <ButtonLink href={paths.home}>Go Home</ButtonLink>
      </div>
    </section>
  )
}
