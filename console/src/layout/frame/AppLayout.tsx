import { QueryClientProvider, useQuery } from '@tanstack/react-query'
import { type ReactNode, Suspense, useEffect, useLayoutEffect } from 'react'
import { restorationGet } from '#contract/restoration.ts'
import { followEvents } from '../../api/live.ts'
import { usePreferences } from '../../api/preferences.ts'
import { whenProofNeeded } from '../../api/identity/proof.ts'
import { query, queryClient } from '../../api/query.ts'
import { onceOpened, part } from '../../ui/part.tsx'
import { isOfPast } from './past.ts'
import { place, whenPageShown } from '../../lib/router.ts'
import { useStore } from '../../lib/store.ts'
import { hasThemeHere, setTheme } from '../../lib/theme.ts'
import { DialogHost } from '../../ui/overlay/DialogHost.tsx'
import { closeDialogs } from '../../ui/overlay/dialogs.ts'
import css from './AppLayout.module.css'
import { confirmIdentity } from '../modals.ts'
import { paletteOpen } from '../search/commands.ts'
import { Header } from '../navigation/Header.tsx'
import { SessionBand } from './pages.tsx'
import { Sidebar } from '../navigation/Sidebar.tsx'
import { SecondFactorBand } from '../proof/SecondFactorBand.tsx'
import { Strip } from './Strip.tsx'

const Palette = onceOpened(() => import('../search/Palette.tsx'))
const Past = part(() => import('../../features/past/Past.tsx'))
const Restored = part(() => import('../../features/restoration/Restored.tsx'))

/** The frame of every page for signed-in users. */
export default function AppLayout({ children }: { children: ReactNode }) {
  const inPast = useStore(place, isOfPast)
  useEffect(() => followEvents(queryClient), [])
  useEffect(() => whenProofNeeded(async () => (await confirmIdentity()) === true), [])
  // Closes a page's dialogs when the user leaves the page in any way, such as by the browser's
  // Back.
  useEffect(() => whenPageShown(closeDialogs), [])
  // Before the page is painted, so that no key of a user who sees it is lost.
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (
        event.key.toLowerCase() !== 'k' ||
        !(event.metaKey || event.ctrlKey) ||
        event.shiftKey ||
        event.altKey
      )
        return
      event.preventDefault()
      paletteOpen.set((open) => !open)
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [])
  return (
    <QueryClientProvider client={queryClient}>
      <a
        className={css['skip']}
        href="#content"
        onClick={(event) => {
          event.preventDefault()
          document.querySelector<HTMLElement>('#content')?.focus()
        }}
      >
        Skip to content
      </a>
      <Sidebar />
      <div className={css['main']}>
        <Header inPast={inPast} />
        <main id="content" className={css['content']} tabIndex={-1}>
          <SessionBand />
          <SecondFactorBand />
          <RestoredBand />
          {inPast ? (
            <Suspense fallback={null}>
              <Past />
            </Suspense>
          ) : (
            children
          )}
        </main>
      </div>
      <Strip inPast={inPast} />
      <ThemeOfUser />
      <PaletteHost />
      <DialogHost />
    </QueryClientProvider>
  )
}

/** Applies the user's saved theme if no theme was chosen in this browser. */
function ThemeOfUser() {
  const { theme: chosen } = usePreferences()
  useEffect(() => {
    if ((chosen === 'dark' || chosen === 'light') && !hasThemeHere()) setTheme(chosen)
  }, [chosen])
  return null
}

/**
 * Poll interval in ms while something is on hold after a restore. Steelyard contacts servers in the
 * background.
 */
const restoredMs = 5_000

function RestoredBand() {
  const { data } = useQuery({
    ...query(restorationGet),
    refetchInterval: ({ state }) => (state.data?.restored ? restoredMs : false),
  })
  if (!data?.restored) return null
  return (
    <Suspense fallback={null}>
      <Restored of={{ ...data, restored: data.restored }} />
    </Suspense>
  )
}

function PaletteHost() {
  useEffect(() => () => paletteOpen.set(false), [])
  return <Palette open={useStore(paletteOpen)} onClose={() => paletteOpen.set(false)} />
}
