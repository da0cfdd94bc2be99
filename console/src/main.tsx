import './styles/fonts.css'
import './styles/tokens.css'
import './styles/measures.css'
import './styles/base.css'
import { RouterProvider } from '@tanstack/react-router'
import { setNonce } from 'get-nonce'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { watchPage } from './api/report.ts'
import { authStatus, validateSession, watchSession, whenSessionEnds } from './api/auth.ts'
import { nonce } from './lib/nonce.ts'
import { paths } from './lib/paths.ts'
import { followLinks, router } from './router.tsx'

if (nonce !== undefined) setNonce(nonce)

// Re-runs the guards when the session is validated, lost, or started in another tab.
authStatus.subscribe(() => void router.invalidate())
whenSessionEnds(({ explicit }) => {
  const { pathname, href } = router.state.location
  if (pathname !== paths.signIn) void router.navigate({ to: paths.signIn, replace: true, state: explicit ? {} : { from: href } })
})
followLinks()
void validateSession()
watchSession()

watchPage()

createRoot(document.querySelector('#root')!).render(
  <StrictMode>
    <RouterProvider router={router} />
  </StrictMode>,
)
