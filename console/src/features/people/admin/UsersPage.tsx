import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { invitationCreate } from '#contract/people/invitations.ts'
import { statusOf, userCreate, userList } from '#contract/users.ts'
import { allowed, useUser } from '../../../api/session.ts'
import { AdminPage } from '../../../layout/admin/AdminPage.tsx'
import { ListToolbar, type SetListSearch, useList } from '../../../layout/lists/use-list.tsx'
import { PageCount } from '../../../layout/navigation/Breadcrumbs.tsx'
import { useCommands } from '../../../layout/search/commands.ts'
import type { ListSearch } from '../../../lib/list-search.ts'
import { sentence } from '../../../lib/text.ts'
import type { Action } from '../../../ui/actions.ts'
import { Empty } from '../../../ui/feedback/States.tsx'
import { Badge, StatusDot } from '../../../ui/feedback/Status.tsx'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { dialog } from '../../../ui/overlay/dialogs.ts'
import { DataTable } from '../../../ui/table/DataTable.tsx'
import { listColumns, Time } from '../../../ui/table/list-columns.tsx'
import { usersQuery } from '../people-queries.ts'
import { userActions } from './user-actions.ts'

const addUser = dialog(() => import('./AddUser.tsx'))
export const inviteUser = dialog(() => import('./InviteUser.tsx'))

const userColumns = listColumns(userList.list, {
  email: { fixed: true, card: 'name', cell: (u) => <span className="clip">{u.email}</span> },
  name: { from: 'md', width: 170, cell: (u) => <span className="clip">{u.name}</span> },
  role: {
    card: 'fact',
    width: 110,
    cell: (u) => <Badge tone={u.role === 'admin' ? 'accent' : 'neutral'}>{sentence(u.role)}</Badge>,
  },
  status: {
    card: 'state',
    width: 110,
    cell: (u) => (
      <StatusDot tone={u.disabled_at === null ? 'ok' : 'off'}>{sentence(statusOf(u))}</StatusDot>
    ),
  },
  second_factor: {
    from: 'md',
    width: 130,
    cell: (u) => (
      <StatusDot tone={u.has_second_factor ? 'ok' : 'off'}>
        {u.has_second_factor ? 'Yes' : 'No'}
      </StatusDot>
    ),
  },
  last_sign_in: {
    from: 'md',
    width: 120,
    cell: (u) =>
      u.last_sign_in_at === null ? (
        <span className="t3">Never</span>
      ) : (
        <Time at={u.last_sign_in_at} />
      ),
  },
  created_at: { from: 'lg', width: 120 },
})

interface PageProps {
  search: ListSearch
  setSearch: SetListSearch
}

/** The users of this installation. */
export const UsersPage = (props: PageProps) => (
  <AdminPage tab="users">
    <Users {...props} />
  </AdminPage>
)

function Users({ search, setSearch }: PageProps) {
  const answer = useQuery(usersQuery(search))
  const { data: page } = answer
  const ownId = useUser()?.id
  const state = useList(userList.list, userColumns, { search, setSearch }, answer)
  const [invite, add] = useMemo<[Action, Action]>(
    () => [
      { label: 'Invite', icon: 'add', can: allowed(invitationCreate), run: () => inviteUser() },
      { label: 'Add user', icon: 'add', can: allowed(userCreate), run: () => addUser() },
    ],
    [],
  )
  const commands = useMemo(() => [{ ...invite, label: 'Invite user' }, add], [invite, add])
  useCommands('Users', commands)
  return (
    <>
      <PageCount n={page?.total} />
      <ListToolbar state={state} placeholder="Name or email" options={{}}>
        <ActionButton {...add} icon={undefined} />
        <ActionButton {...invite} kind="primary" />
      </ListToolbar>
      <DataTable
        {...state.table}
        rowKey={(u) => u.id}
        rowName={(u) => u.email}
        actions={(u) => userActions(u, ownId)}
        empty={
          <Empty
            title="No users yet"
            text="Invite your colleagues: each gets a link with which they choose a password."
            actions={<ActionButton {...invite} kind="primary" />}
          />
        }
      />
    </>
  )
}
