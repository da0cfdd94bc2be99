import { heldRole, mayManageUsers, useUser } from '../../api/session.ts'
import { paths } from '../../lib/paths.ts'
import { initials } from '../../lib/text.ts'
import { Kbd } from '../../ui/inputs/Button.tsx'
import { Icon } from '../../ui/pictures/Icon.tsx'
import { Menu } from '../../ui/overlay/Menu.tsx'
import { Breadcrumbs } from './Breadcrumbs.tsx'
import { paletteOpen, useThemeAction } from '../search/commands.ts'
import css from './Header.module.css'
import { askAndLogOut } from '../leave.ts'
import { MobileMenu } from './MobileMenu.tsx'
import { RunningOperations } from './RunningOperations.tsx'

const mac = /Mac|iPhone|iPad/.test(navigator.userAgent)

/** `inPast`: the page shows a time of the past, when other operations ran. */
export function Header({ inPast }: { inPast: boolean }) {
  return (
    <header className={css['head']}>
      <MobileMenu />
      <Breadcrumbs />
      <button
        type="button"
        className={css['search']}
        aria-keyshortcuts={mac ? 'Meta+K' : 'Control+K'}
        onClick={() => paletteOpen.set(true)}
      >
        <Icon name="search" />
        <span>Go to or do anything</span>
        <Kbd>{mac ? '⌘K' : 'Ctrl K'}</Kbd>
      </button>
      {!inPast && <RunningOperations />}
      <Profile />
    </header>
  )
}

function Profile() {
  const user = useUser()
  const themeAction = useThemeAction()
  return (
    <Menu
      label="Profile"
      trigger={
        <button type="button" className={css['profile']}>
          <span className={css['avatar']}>{initials(user?.name ?? user?.email ?? '')}</span>
          <span className="sr">Profile</span>
          <Icon name="chevron-down" />
        </button>
      }
      items={[
        { heading: 'Profile' },
        { heading: <span className={css['email']}>{user?.email ?? 'Loading...'}</span> },
        'rule',
        { label: 'Your profile', icon: 'edit', hint: heldRole() ?? '', to: paths.profile() },
        { label: 'Operations', icon: 'grip', to: paths.operations() },
        { label: 'Incidents', icon: 'alert', to: paths.incidents() },
        { label: 'History', icon: 'clock', to: paths.history() },
        { label: 'Alerts', icon: 'bell', to: paths.channels() },
        { label: 'Admin', icon: 'key', can: mayManageUsers(), to: paths.users() },
        { label: 'Audit log', icon: 'lock', can: mayManageUsers(), to: paths.audit() },
        'rule',
        { label: 'Documentation', icon: 'help', to: '/docs/' },
        { label: 'API', icon: 'external', to: '/docs/api' },
        { label: 'Command line', icon: 'download', to: '/cli' },
        'rule',
        { ...themeAction, stay: true },
        'rule',
        { label: 'Log out', icon: 'log-out', run: () => void askAndLogOut() },
      ]}
    />
  )
}
