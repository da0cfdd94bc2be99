import { useQuery } from '@tanstack/react-query'
import {
  type WaitlistEntry,
  waitlistInvite,
  waitlistList,
  waitlistRemove,
} from '#contract/people/invitations.ts'
import { no, yes } from '#contract/rule.ts'
import { call } from '../../../api/client.ts'
import { invalidate } from '../../../api/query.ts'
import { allowed } from '../../../api/session.ts'
import { AdminPage } from '../../../layout/admin/AdminPage.tsx'
import { ListToolbar, type SetListSearch, useList } from '../../../layout/lists/use-list.tsx'
import { PageCount } from '../../../layout/navigation/Breadcrumbs.tsx'
import type { ListSearch } from '../../../lib/list-search.ts'
import { sentence } from '../../../lib/text.ts'
import { type Action, both, confirm } from '../../../ui/actions.ts'
import { Empty } from '../../../ui/feedback/States.tsx'
import { StatusDot, type Tone } from '../../../ui/feedback/Status.tsx'
import { toast } from '../../../ui/feedback/toast.ts'
import { dialog } from '../../../ui/overlay/dialogs.ts'
import { DataTable } from '../../../ui/table/DataTable.tsx'
import { listColumns, Time } from '../../../ui/table/list-columns.tsx'
import { waitlistQuery } from '../people-queries.ts'

const inviteFromWaitlist = dialog<{ entry: WaitlistEntry }>(
  () => import('./InviteFromWaitlist.tsx'),
)

const tones: Readonly<Record<WaitlistEntry['status'], Tone>> = {
  waiting: 'busy',
  invited: 'idle',
  joined: 'ok',
}

const waitlistColumns = listColumns(waitlistList.list, {
  email: { fixed: true, card: 'name', cell: (e) => <span className="clip">{e.email}</span> },
  created_at: { card: 'fact', width: 110, cell: (e) => <Time at={e.created_at} /> },
  status: {
    card: 'state',
    width: 110,
    cell: (e) => <StatusDot tone={tones[e.status]}>{sentence(e.status)}</StatusDot>,
  },
})

const actionsOf = (e: WaitlistEntry): Action[] => [
  {
    label: e.status === 'invited' ? 'Invite again' : 'Invite',
    icon: 'add',
    can: both(
      allowed(waitlistInvite),
      e.status === 'joined' ? no('A user with this email exists') : yes,
    ),
    run: () => inviteFromWaitlist({ entry: e }),
  },
  {
    label: 'Remove',
    icon: 'trash',
    danger: true,
    can: allowed(waitlistRemove),
    run: () =>
      confirm({
        title: `Remove ${e.email} from the waitlist?`,
        label: 'Remove',
        text: 'The entry is deleted. An open invitation stays valid until you withdraw it.',
        danger: true,
        act: async () => {
          await call(waitlistRemove, { params: { id: e.id } })
          await invalidate(waitlistList)
          toast.success(`${e.email} was removed from the waitlist`)
        },
      }),
  },
]

interface PageProps {
  search: ListSearch
  setSearch: SetListSearch
}

/** Visitors who asked for an account. */
export const WaitlistPage = (props: PageProps) => (
  <AdminPage tab="waitlist">
    <Waitlist {...props} />
  </AdminPage>
)

function Waitlist({ search, setSearch }: PageProps) {
  const answer = useQuery(waitlistQuery(search))
  const state = useList(waitlistList.list, waitlistColumns, { search, setSearch }, answer)
  return (
    <>
      <PageCount n={answer.data?.total} />
      <ListToolbar state={state} placeholder="Name, company or email" options={{}} saves={false}>
        {null}
      </ListToolbar>
      <DataTable
        {...state.table}
        rowKey={(e) => e.id}
        rowName={(e) => e.email}
        actions={actionsOf}
        empty={
          <Empty
            title="Nobody is waiting"
            text="Visitors who press “Join waitlist” on the home page are listed here, unless the page leads to a waitlist of your own."
          />
        }
      />
    </>
  )
}
