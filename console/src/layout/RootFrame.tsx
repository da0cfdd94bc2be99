import { Outlet, useRouterState } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import { useAuthStatus } from '../api/auth.ts'
import { paths } from '../lib/paths.ts'
import { ToastHost } from '../ui/feedback/Toast.tsx'
import { LoadingScreen } from './pages.tsx'
import css from './RootFrame.module.css'

const AppLayout = lazy(() => import('./AppLayout.tsx'))
const PublicFrame = lazy(() => import('./PublicFrame.tsx'))

/** The whole screen: "Loading..." while the session is being validated, then the signed-in or the signed-out frame around the page. */
export function RootFrame() {
  const status = useAuthStatus()
  const atSignIn = useRouterState({ select: (state) => state.location.pathname === paths.signIn })
  // What is shown may lag behind where one goes: a page for signed-in people never stands in the visitors' frame.
  const guarded = useRouterState({ select: (state) => state.matches.some((match) => match.routeId === '/infra') })
  const Frame = status === 'signedIn' && (!atSignIn || guarded) ? AppLayout : PublicFrame
  return (
    <>
      {status === 'loading' || (guarded && status === 'signedOut') ? (
        <LoadingScreen />
      ) : (
        <Suspense fallback={<LoadingScreen />}>
          <Frame>
            <Outlet />
          </Frame>
        </Suspense>
      )}
      {/* Live from the start: a dialog hides from those who listen all but what is live when it opens. */}
      <div aria-live="polite">
        <ToastHost />
      </div>
      {/* Says which release this is, for support; never in the way of a click. */}
      <aside className={css['version']} aria-label="Version">
        {__VERSION__}
      </aside>
    </>
  )
}
