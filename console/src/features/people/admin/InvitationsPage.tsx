import { useQuery } from '@tanstack/react-query'
import {
  type Invitation,
  invitationCreate,
  invitationList,
  invitationRemove,
} from '#contract/people/invitations.ts'
import { call } from '../../../api/client.ts'
import { invalidate } from '../../../api/query.ts'
import { allowed } from '../../../api/session.ts'
import { AdminPage } from '../../../layout/admin/AdminPage.tsx'
import { ListToolbar, type SetListSearch, useList } from '../../../layout/lists/use-list.tsx'
import { PageCount } from '../../../layout/navigation/Breadcrumbs.tsx'
import type { ListSearch } from '../../../lib/list-search.ts'
import { exact, until } from '../../../lib/time/time.ts'
import { type Action, confirm } from '../../../ui/actions.ts'
import { Empty } from '../../../ui/feedback/States.tsx'
import { toast } from '../../../ui/feedback/toast.ts'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { DataTable } from '../../../ui/table/DataTable.tsx'
import { listColumns, none } from '../../../ui/table/list-columns.tsx'
import { invitationsQuery } from '../people-queries.ts'
import { inviteUser } from './UsersPage.tsx'

const invitationColumns = listColumns(invitationList.list, {
  email: { fixed: true, card: 'name', cell: (i) => <span className="clip">{i.email}</span> },
  role: { card: 'state', width: 110 },
  invited_by: {
    from: 'md',
    width: 210,
    cell: (i) => <span className="clip">{i.invited_by ?? none}</span>,
  },
  expires_at: {
    card: 'fact',
    width: 110,
    cell: (i) => (
      <time className="num" dateTime={i.expires_at} title={exact(i.expires_at)}>
        {until(i.expires_at)}
      </time>
    ),
  },
})

const actionsOf = (i: Invitation): Action[] => [
  {
    label: 'Withdraw',
    icon: 'trash',
    danger: true,
    can: allowed(invitationRemove),
    run: () =>
      confirm({
        title: `Withdraw the invitation of ${i.email}?`,
        label: 'Withdraw',
        text: 'Its link stops working.',
        danger: true,
        act: async () => {
          await call(invitationRemove, { params: { id: i.id } })
          await invalidate(invitationList)
          toast.success(`The invitation of ${i.email} was withdrawn`)
        },
      }),
  },
]

interface PageProps {
  search: ListSearch
  setSearch: SetListSearch
}

/** Invitations that were not accepted yet. */
export const InvitationsPage = (props: PageProps) => (
  <AdminPage tab="invitations">
    <Invitations {...props} />
  </AdminPage>
)

function Invitations({ search, setSearch }: PageProps) {
  const answer = useQuery(invitationsQuery(search))
  const state = useList(invitationList.list, invitationColumns, { search, setSearch }, answer)
  const invite = (
    <ActionButton
      label="Invite"
      kind="primary"
      icon="add"
      can={allowed(invitationCreate)}
      run={() => inviteUser()}
    />
  )
  return (
    <>
      <PageCount n={answer.data?.total} />
      <ListToolbar state={state} placeholder="Name or email" options={{}} saves={false}>
        {!state.isEmpty && invite}
      </ListToolbar>
      <DataTable
        {...state.table}
        rowKey={(i) => i.id}
        rowName={(i) => i.email}
        actions={actionsOf}
        empty={
          <Empty
            title="No open invitations"
            text="An invitation is a link that works once: whoever has it chooses a name and a password. To send it again, invite the same email again; the earlier link stops working."
            actions={invite}
          />
        }
      />
    </>
  )
}
