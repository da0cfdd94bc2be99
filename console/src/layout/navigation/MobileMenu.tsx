import { useState } from 'react'
import { place } from '../../lib/router.ts'
import { useStore } from '../../lib/store.ts'
import { IconButton } from '../../ui/inputs/Button.tsx'
import { onceOpened } from '../../ui/part.tsx'
import css from './MobileMenu.module.css'

const MobileDrawer = onceOpened(() => import('./MobileDrawer.tsx'))

/**
 * The menu below `sm`, a drawer that closes on navigation. It contains Log out only while a submenu
 * is open; otherwise Log out is in the profile menu.
 */
export function MobileMenu() {
  const [open, setOpen] = useState(false)
  const pathname = useStore(place, (at) => at.pathname)
  const [at, setAt] = useState(pathname)
  if (at !== pathname) {
    setAt(pathname)
    setOpen(false)
  }
  return (
    <>
      <IconButton
        icon="grip"
        iconSize={20}
        label="Open menu"
        className={css['button']}
        aria-expanded={open}
        onClick={() => setOpen(true)}
      />
      <MobileDrawer open={open} onClose={() => setOpen(false)} />
    </>
  )
}
