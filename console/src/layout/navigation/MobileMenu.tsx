import { useState } from 'react'
import { onceOpened } from '../../ui/part.tsx'
import { place } from '../../lib/router.ts'
import { useStore } from '../../lib/store.ts'
import { count } from '../../lib/units.ts'
import { IconButton } from '../../ui/inputs/Button.tsx'
import { Icon, Mark } from '../../ui/pictures/Icon.tsx'
import { askAndLogOut } from '../leave.ts'
import { bySection, isAt, type MenuEntry } from './menu.ts'
import css from './MobileMenu.module.css'
import { type ShownEntry, useMenu } from './use-menu.ts'

/** An entry of the menu, or of an open submenu, whose entries have no number. */
type Shown = MenuEntry & Partial<Pick<ShownEntry, 'n'>>

const Drawer = onceOpened(() => import('../../ui/overlay/Drawer.tsx'))

/**
 * The menu below `sm`, a drawer that closes on navigation. It contains Log out only while a submenu
 * is open; otherwise Log out is in the profile menu.
 */
export function MobileMenu() {
  const [open, setOpen] = useState(false)
  const [section, setSection] = useState<string | null>(null)
  const pathname = useStore(place, (at) => at.pathname)
  const entries = useMenu().filter((entry) => !entry.footer)
  const inside = entries.find((entry) => entry.label === section && entry.submenu !== undefined)
  const [at, setAt] = useState(pathname)
  if (at !== pathname) {
    setAt(pathname)
    setOpen(false)
  }
  const close = () => setOpen(false)
  return (
    <>
      <IconButton
        icon="grip"
        iconSize={20}
        label="Open menu"
        className={css['button']}
        aria-expanded={open}
        onClick={() => {
          setSection(
            entries.find((entry) => entry.current && entry.submenu !== undefined)?.label ?? null,
          )
          setOpen(true)
        }}
      />
      <Drawer open={open} onClose={close} label="Menu">
        <div className={css['panel']}>
          <div className={css['head']}>
            {inside === undefined ? (
              <span className={css['brand']}>
                <Mark />
                <b>Steelyard</b>
              </span>
            ) : (
              <button type="button" className={css['back']} onClick={() => setSection(null)}>
                <Icon name="arrow-left" />
                <b>{inside.label}</b>
                <span className="sr">, back to the menu</span>
              </button>
            )}
            <IconButton icon="close" label="Close menu" onClick={close} />
          </div>
          <nav aria-label="Sections" className="grow">
            {bySection<Shown>(inside?.submenu ?? entries).map(([section, listed]) => (
              <div
                key={section}
                role={section === null ? undefined : 'group'}
                aria-label={section ?? undefined}
              >
                {section !== null && inside === undefined && (
                  <p className={css['section']} aria-hidden="true">
                    {section}
                  </p>
                )}
                {listed.map((entry) =>
                  entry.submenu !== undefined ? (
                    <button
                      key={entry.label}
                      type="button"
                      className={css['item']}
                      onClick={() => setSection(entry.label)}
                    >
                      <Icon name={entry.icon} size={20} />
                      {entry.label}
                      <Icon name="chevron-right" className="right" />
                    </button>
                  ) : (
                    <a
                      key={entry.label}
                      className={css['item']}
                      href={entry.path ?? entry.href}
                      aria-current={isAt(entry, pathname) ? 'page' : undefined}
                      onClick={close}
                    >
                      <Icon name={entry.icon} size={20} />
                      {entry.label}
                      {entry.n !== undefined && (
                        <span className={css['count']}>{count(entry.n)}</span>
                      )}
                    </a>
                  ),
                )}
              </div>
            ))}
          </nav>
          {inside !== undefined && (
            <div className={css['foot']}>
              <button type="button" className={css['item']} onClick={() => void askAndLogOut()}>
                <Icon name="log-out" size={20} />
                Log out
              </button>
            </div>
          )}
        </div>
      </Drawer>
    </>
  )
}
