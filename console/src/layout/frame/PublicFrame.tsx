import type { ReactNode } from 'react'
import { JoinButton } from '../../features/home/JoinButton.tsx'
import { paths } from '../../lib/paths.ts'
import { place } from '../../lib/router.ts'
import { useStore } from '../../lib/store.ts'
import { DialogHost } from '../../ui/overlay/DialogHost.tsx'
import { Mark } from '../../ui/pictures/Icon.tsx'
import css from './PublicFrame.module.css'

/** The frame for visitors, with a prompt to get an account or join the waitlist. */
export default function PublicFrame({ children }: { children: ReactNode }) {
  const atSignIn = useStore(place, ({ pathname }) => pathname === paths.signIn)
  return (
    <>
      <header className={css['head']}>
        <a className={css['brand']} href={paths.home} aria-label="Steelyard, home">
          <Mark />
          <span>Steelyard</span>
        </a>
        <span className={css['ask']}>
          <span>Already have an account? </span>
          <a href={paths.signIn} aria-current={atSignIn ? 'page' : undefined}>
            Sign in
          </a>
        </span>
        <JoinButton />
      </header>
      <main>{children}</main>
      <DialogHost />
    </>
  )
}
