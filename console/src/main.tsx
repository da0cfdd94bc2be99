import './styles/fonts.css'
import './styles/tokens.css'
import './styles/measures.css'
import './styles/base.css'
// Modules that visitors' pages share with other pages. Imported here, so that the bundler doesn't
// put them into separate files.
import './api/installation.ts'
import './ui/feedback/Status.tsx'
import './ui/inputs/ActionButton.tsx'
import './ui/inputs/Field.tsx'
import './ui/overlay/DialogHost.tsx'
import { setNonce } from 'get-nonce'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { watchPage } from './api/report.ts'
import { authStatus, validateSession, watchSession, whenSessionEnds } from './api/auth.ts'
import { nonce } from './lib/nonce.ts'
import { followReleases } from './lib/code/release.ts'
import { paths } from './lib/paths.ts'
import { navigate, place, reload } from './lib/router.ts'
import { Boundary, RootFrame } from './layout/frame/RootFrame.tsx'
import { VersionLabel } from './layout/frame/VersionLabel.tsx'
import { followPlace } from './router.tsx'

if (nonce !== undefined) setNonce(nonce)

followReleases()
// Re-runs the guards when the session is validated, lost, or started in another tab.
authStatus.subscribe(() => void reload())
whenSessionEnds(({ explicit, replaced }) => {
  if (replaced) return location.replace(paths.home)
  const { pathname, href } = place.get()
  if (pathname !== paths.signIn)
    void navigate(paths.signIn, { replace: true, from: explicit ? undefined : href })
  return undefined
})
followPlace()
void validateSession()
watchSession()

watchPage()

createRoot(document.querySelector('#root')!).render(
  <StrictMode>
    <Boundary of={null}>
      <RootFrame />
    </Boundary>
    <VersionLabel />
  </StrictMode>,
)
