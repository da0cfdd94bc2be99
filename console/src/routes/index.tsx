import { lazy, Suspense } from 'react'
import { overviewGet } from '#contract/overview.ts'
import type { Load } from '../api/page.ts'
import { query } from '../api/query.ts'
import { authStatus, useAuthStatus } from '../api/session.ts'
import { PendingPage } from '../layout/pages.tsx'

const SignedOut = lazy(() => import('../features/home/SignedOut.tsx').then((m) => ({ default: m.SignedOut })))
const Overview = lazy(() => import('../features/overview/Overview.tsx').then((m) => ({ default: m.Overview })))

export const load: Load = async ({ client }) => {
  if (authStatus.get() === 'signedIn') await client.ensureQueryData(query(overviewGet))
}

/** Home: the overview for those who are signed in, what this is for the others. */
export function Page() {
  const status = useAuthStatus()
  return <Suspense fallback={<PendingPage />}>{status === 'signedIn' ? <Overview /> : <SignedOut />}</Suspense>
}
