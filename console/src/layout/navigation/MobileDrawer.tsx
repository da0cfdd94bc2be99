import { useState } from 'react'
import { place } from '../../lib/router.ts'
import { useStore } from '../../lib/store.ts'
import { count } from '../../lib/units.ts'
import { IconButton } from '../../ui/inputs/Button.tsx'
import Drawer from '../../ui/overlay/Drawer.tsx'
import { Icon, Mark } from '../../ui/pictures/Icon.tsx'
import { askAndLogOut } from '../leave.ts'
import { bySection, isAt, type MenuEntry } from './menu.ts'
import css from './MobileMenu.module.css'
import { type ShownEntry, useMenu } from './use-menu.ts'

/** An entry of the menu, or of an open submenu, whose entries have no number. */
type Shown = MenuEntry & Partial<Pick<ShownEntry, 'n'>>

/** The drawer of the menu. It opens with the submenu of the page that is shown. */
export default function MobileDrawer({ open, onClose }: { open: boolean; onClose: () => void }) {
  const pathname = useStore(place, (at) => at.pathname)
  const entries = useMenu().filter((entry) => !entry.footer)
  const current = () =>
    entries.find((entry) => entry.current && entry.submenu !== undefined)?.label ?? null
  const [section, setSection] = useState(current)
  const [wasOpen, setWasOpen] = useState(open)
  if (wasOpen !== open) {
    setWasOpen(open)
    if (open) setSection(current())
  }
  const inside = entries.find((entry) => entry.label === section && entry.submenu !== undefined)
  return (
    <Drawer open={open} onClose={onClose} label="Menu">
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
          <IconButton icon="close" label="Close menu" onClick={onClose} />
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
                    onClick={onClose}
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
  )
}
