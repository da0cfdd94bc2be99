import { Component, type ReactNode, Suspense, useEffect } from 'react'
import { useAuthStatus } from '../../api/auth.ts'
import { paths } from '../../lib/paths.ts'
import { pageShown, place, setSearch, shown } from '../../lib/router.ts'
import { isGuarded } from '../../lib/routes.ts'
import { useStore } from '../../lib/store.ts'
import { toastsWanted } from '../../ui/feedback/toast.ts'
import { type MissingProps, onceOpened, part } from '../../ui/part.tsx'
import { FailedPage, LoadingScreen, PendingPage } from './pages.tsx'

const Toasts = onceOpened(() => import('../../ui/feedback/ToastView.tsx'))
const MissingFrame = ({ error, retry }: MissingProps<object>) => (
  <main>
    <FailedPage error={error} reset={retry} />
  </main>
)
const AppLayout = part(() => import('./AppLayout.tsx'), MissingFrame)
const PublicFrame = part(() => import('./PublicFrame.tsx'), MissingFrame)

/**
 * The whole screen: "Loading..." while the session is validated, then the signed-in or signed-out
 * frame around the page.
 */
export function RootFrame() {
  const status = useAuthStatus()
  const atSignIn = useStore(place, ({ pathname }) => pathname === paths.signIn)
  // The shown page may lag behind the URL. A page for signed-in users never appears in the
  // visitors' frame.
  const guarded = useStore(shown, (page) => isGuarded(page?.pathname ?? ''))
  const Frame = status === 'signedIn' && (!atSignIn || guarded) ? AppLayout : PublicFrame
  return (
    <>
      {status === 'loading' || (guarded && status === 'signedOut') ? (
        <LoadingScreen />
      ) : (
        <Suspense fallback={<LoadingScreen />}>
          <Frame>
            <ShownPage />
          </Frame>
        </Suspense>
      )}
      {/* Rendered from the start: an open dialog hides everything from screen readers except live regions that existed before. */}
      <div aria-live="polite">
        <Toasts open={useStore(toastsWanted)} />
      </div>
    </>
  )
}

function ShownPage() {
  const now = useStore(shown)
  const path = now === null || now.state === 'pending' ? null : now.pathname
  useEffect(() => {
    if (path !== null) pageShown(path)
  }, [path])
  if (now === null) return null
  if (now.state === 'pending') return <PendingPage />
  if (now.state === 'failed') return <FailedPage error={now.error} reset={noop} />
  const { Page, match, search } = now
  return (
    <Boundary of={now}>
      <Page
        params={(match?.params ?? {}) as never}
        search={search as never}
        setSearch={setSearch as never}
      />
    </Boundary>
  )
}

const noop = () => undefined

interface BoundaryProps {
  /** When this value changes, an error is forgotten and the children are rendered again. */
  of: unknown
  children: ReactNode
}
interface BoundaryState {
  of: unknown
  failed: { error: unknown } | null
}

/** Shows an error of its children in their place. */
export class Boundary extends Component<BoundaryProps, BoundaryState> {
  override state: BoundaryState = { of: this.props.of, failed: null }
  static getDerivedStateFromError = (error: unknown): Partial<BoundaryState> => ({
    failed: { error },
  })
  static getDerivedStateFromProps = (
    { of }: BoundaryProps,
    state: BoundaryState,
  ): BoundaryState | null => (of === state.of ? null : { of, failed: null })
  override render() {
    const { failed } = this.state
    return failed === null ? (
      this.props.children
    ) : (
      <FailedPage error={failed.error} reset={() => this.setState({ failed: null })} />
    )
  }
}
