import type { Query } from '@tanstack/react-query'
import { useCallback, useEffect } from 'react'
import { liveState } from '../../api/live-state.ts'
import { undecided } from '../../api/patience.ts'
import { report } from '../../api/report.ts'
import { paths } from '../../lib/paths.ts'
import { reasonOf } from '../../lib/reason.ts'
import { goBack, reload } from '../../lib/router.ts'
import { useStore } from '../../lib/store.ts'
import { clock } from '../../lib/time.ts'
import { Button, ButtonLink } from '../../ui/inputs/Button.tsx'
import { SkeletonRows, StaleBand } from '../../ui/feedback/States.tsx'
import css from './pages.module.css'

/** Shows that the server has not confirmed the session yet, and until when the confirmation is retried. */
export function SessionBand() {
  const wait = useStore(undecided)
  return (
    wait && (
      <StaleBand boxed>
        Your session cannot be confirmed: {wait.reason} Steelyard tries again until {clock(new Date(wait.until).toISOString())}, then you are signed out. Drafts
        are kept.
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
          <StaleBand boxed>Steelyard has not answered since {clock(since)}. This page is shown as soon as Steelyard answers.</StaleBand>
        </>
      )}
      <div className={css['pending']}>
        <SkeletonRows rows={10} />
      </div>
    </>
  )
}

export function NotFoundPage() {
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

/** Whether an error may be temporary: no response, or a 5xx response. */
const mayPass = (error: unknown): boolean => error instanceof Error && 'status' in error && (error.status === 0 || Number(error.status) >= 500)
/** Whether a file of the console could not be loaded, in the words of Chromium, Firefox, Safari, and Vite (for styles). */
const isFileMissing = (error: unknown): boolean => error instanceof Error && /dynamically imported|module script|preload CSS/.test(error.message)
const lookAgainMs = 5_000
const failed = { predicate: (query: Query) => query.state.status === 'error' }

/** `reset` shows the page again. */
export function FailedPage({ error, reset }: { error: unknown; reset: () => void }) {
  useEffect(() => report(error), [error])
  const show = useCallback(async () => {
    reset()
    await reload()
  }, [reset])
  const again = async () => {
    // An update has renamed the console's files, and only a reload finds the new names. Without a server, the reload would lose the console.
    if (isFileMissing(error) && (await fetch(paths.home, { method: 'HEAD' }).catch(() => null))?.ok) return location.reload()
    const { queryClient } = await import('../../api/query.ts')
    // Resets the failed queries in the cache, so that the page fetches the data again.
    await queryClient.resetQueries(failed)
    await show()
  }
  useEffect(() => {
    if (!mayPass(error)) return undefined
    // Retries in the background. The screen changes only when there is something new to show.
    const timer = setInterval(async () => {
      if (document.hidden) return
      const { queryClient } = await import('../../api/query.ts')
      await queryClient.refetchQueries(failed)
      if (queryClient.getQueryCache().findAll(failed).length === 0) await show()
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
