import type { ReactNode } from 'react'
import { mayManageUsers } from '../../api/session.ts'
import { paths } from '../../lib/paths.ts'
import { Tabs } from '../../ui/text/Tabs.tsx'
import css from './AdminPage.module.css'
import { NoAccess } from './NoAccess.tsx'

const pages = [
  { id: 'users', text: 'Users', href: paths.users() },
  { id: 'invitations', text: 'Invitations', href: paths.invitations() },
  { id: 'waitlist', text: 'Waitlist', href: paths.waitlist() },
  { id: 'sessions', text: 'Sessions', href: paths.sessions() },
  { id: 'tokens', text: 'API tokens', href: paths.apiTokens() },
  { id: 'stores', text: 'Stores', href: paths.stores() },
  { id: 'backups', text: 'Backups', href: paths.backups() },
  { id: 'audit', text: 'Audit log', href: paths.audit() },
] as const

/**
 * A page of admins, below the links to the others. Its content renders only for users who may see
 * it.
 */
export function AdminPage({
  tab,
  children,
}: {
  tab: (typeof pages)[number]['id']
  children: ReactNode
}) {
  const may = mayManageUsers()
  if (!may.ok) return <NoAccess what="the pages of admins" />
  return (
    <>
      <Tabs label="Admin" current={tab} tabs={pages} />
      <div className={css['content']}>{children}</div>
    </>
  )
}
