import { Outlet, useRouterState } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import { useAuthStatus } from '../../api/auth.ts'
import { onceOpened } from '../../lib/code.tsx'
import { paths } from '../../lib/paths.ts'
import { useStore } from '../../lib/store.ts'
import { toastsWanted } from '../../ui/feedback/toast.ts'
import { LoadingScreen } from './pages.tsx'
import css from './RootFrame.module.css'

const Toasts = onceOpened(() => import('../../ui/feedback/ToastView.tsx'))
const AppLayout = lazy(() => import('./AppLayout.tsx'))
const PublicFrame = lazy(() => import('./PublicFrame.tsx'))

/** The whole screen: "Loading..." while the session is validated, then the signed-in or signed-out frame around the page. */
export function RootFrame() {
  const status = useAuthStatus()
  const atSignIn = useRouterState({ select: (state) => state.location.pathname === paths.signIn })
  // The shown page may lag behind the URL. A page for signed-in users never appears in the visitors' frame.
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
      {/* Rendered from the start: an open dialog hides everything from screen readers except live regions that existed before. */}
      <div aria-live="polite">
        <Toasts open={useStore(toastsWanted)} />
      </div>
      {/* The release, for support. The label ignores clicks. */}
      <aside className={css['version']} aria-label="Version">
        {__VERSION__}
      </aside>
    </>
  )
}
