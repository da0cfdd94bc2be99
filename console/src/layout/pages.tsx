import { type ErrorComponentProps, useRouter } from '@tanstack/react-router'
import type { Query } from '@tanstack/react-query'
import { useEffect } from 'react'
import { report } from '../api/report.ts'
import { paths } from '../lib/paths.ts'
import { reasonOf } from '../lib/reason.ts'
import { Button, ButtonLink } from '../ui/Button.tsx'
import { SkeletonRows } from '../ui/States.tsx'
import css from './pages.module.css'

/** While the session is being validated. */
export const LoadingScreen = () => (
  <div className={css['loading']} role="status">
    Loading...
  </div>
)

/** While a page's code and data are under way, past 150 ms. */
export const PendingPage = () => (
  <div className={css['pending']}>
    <SkeletonRows rows={10} />
  </div>
)

export function NotFoundPage() {
  const router = useRouter()
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
        <Button icon="arrow-left" onClick={() => router.history.back()}>
          Go Back
        </Button>
        <ButtonLink kind="primary" href={paths.home}>
          Go Home
        </ButtonLink>
      </div>
    </section>
  )
}

/** What failed because nothing answered, or the server couldn't: it may pass by itself. */
const mayPass = (error: unknown): boolean => error instanceof Error && 'status' in error && (error.status === 0 || Number(error.status) >= 500)
const lookAgainMs = 5_000

export function FailedPage({ error, reset }: ErrorComponentProps) {
  const router = useRouter()
  useEffect(() => report(error), [error])
  const again = async () => {
    // What failed is forgotten, so that the page asks for it anew.
    const { queryClient } = await import('../api/query.ts')
    await queryClient.resetQueries({ predicate: (query) => query.state.status === 'error' })
    reset()
    await router.invalidate()
  }
  useEffect(() => {
    if (!mayPass(error)) return undefined
    // Asked behind what is shown, which changes only when there is something else to show.
    const timer = setInterval(async () => {
      if (document.hidden) return
      const { queryClient } = await import('../api/query.ts')
      const failed = { predicate: (query: Query) => query.state.status === 'error' }
      await queryClient.refetchQueries(failed)
      if (queryClient.getQueryCache().findAll(failed).length > 0) return
      reset()
      await router.invalidate()
    }, lookAgainMs)
    return () => clearInterval(timer)
  }, [error, reset, router])
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
