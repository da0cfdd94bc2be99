import { Suspense } from 'react'
import type { Load } from '../api/page.ts'
import { authStatus, useAuthStatus } from '../api/auth.ts'
import { PendingPage } from '../layout/frame/pages.tsx'
import { part } from '../ui/part.tsx'

const overview = () => import('../features/overview/Overview.tsx')
const signedOut = () => import('../features/home/SignedOut.tsx')
const Overview = part(async () => ({ default: (await overview()).Overview }))
const SignedOut = part(async () => ({ default: (await signedOut()).SignedOut }))

export const load: Load<'/'> = async ({ client }) => {
  if (authStatus.get() !== 'signedIn') return
  const { overviewQuery } = await overview()
  await client.ensureQueryData(overviewQuery())
}

/** Home: the overview for signed-in users, an introduction for visitors. */
export function Page() {
  const status = useAuthStatus()
  return (
    <Suspense fallback={<PendingPage />}>
      {status === 'signedIn' ? <Overview /> : <SignedOut />}
    </Suspense>
  )
}
