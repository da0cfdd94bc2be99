import { useAuthLoading } from '../../api/session.ts'
import { count } from '../../lib/units.ts'
import { paths } from '../../lib/paths.ts'
import { place } from '../../lib/router.ts'
import { useStore } from '../../lib/store.ts'
import { Icon, Mark } from '../../ui/pictures/Icon.tsx'
import { askAndLogOut } from '../leave.ts'
import { bySection, isAt, type MenuEntry } from './menu.ts'
import css from './Sidebar.module.css'
import { type ShownEntry, useMenu } from './use-menu.ts'

/**
 * The sidebar: 16.25 rem wide; below `lg` 5.25 rem, with icons only. An entry with a submenu
 * opens a second column, also for a single page.
 */
export function Sidebar() {
  const entries = useMenu()
  const pathname = useStore(place, (at) => at.pathname)
  const loading = useAuthLoading()
  const submenu = entries.find((entry) => entry.current && entry.submenu !== undefined)?.submenu
  const shown = (entry: ShownEntry) => (
    <Entry key={entry.label} entry={entry} current={entry.current} n={entry.n} />
  )
  return (
    <>
      <aside className={css['side']} aria-label="Main">
        <a className={css['brand']} href={paths.home} title="Overview">
          <Mark />
          <span>Steelyard</span>
        </a>
        <nav aria-label="Sections">
          {bySection(entries.filter((entry) => !entry.footer)).map(([section, inside]) => (
            <div
              key={section}
              role={section === null ? undefined : 'group'}
              aria-label={section ?? undefined}
            >
              {section !== null && (
                <p className={css['section']} aria-hidden="true">
                  {section}
                </p>
              )}
              {inside.map(shown)}
            </div>
          ))}
        </nav>
        <div className={css['foot']}>
          {entries.filter((entry) => entry.footer).map(shown)}
          <button
            type="button"
            className={css['item']}
            title="Log out"
            aria-busy={loading || undefined}
            onClick={() => void askAndLogOut()}
          >
            <Icon name="log-out" size={20} />
            <span>Log out</span>
          </button>
        </div>
      </aside>
      {submenu && submenu.length > 0 && (
        <nav className={css['sub']} aria-label="Pages of the section" data-submenu="">
          {submenu.map((entry) => (
            <Entry key={entry.label} entry={entry} current={isAt(entry, pathname)} />
          ))}
        </nav>
      )}
    </>
  )
}

function Entry({
  entry,
  current,
  n,
}: {
  entry: MenuEntry
  current: boolean
  n?: number | undefined
}) {
  const leads = entry.path ?? entry.href ?? entry.submenu?.[0]?.path
  return (
    <a
      className={css['item']}
      href={leads}
      title={entry.label}
      aria-current={current ? 'page' : undefined}
      {...(entry.href !== undefined && { target: '_blank', rel: 'noreferrer' })}
    >
      <Icon name={entry.icon} size={20} />
      <span>{entry.label}</span>
      {n !== undefined && <span className={css['count']}>{count(n)}</span>}
    </a>
  )
}
