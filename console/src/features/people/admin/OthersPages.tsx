import { useQuery } from '@tanstack/react-query'
import { sessionEndAll, sessionList } from '#contract/sessions.ts'
import { userList } from '#contract/users.ts'
import { counted } from '#contract/words.ts'
import { call } from '../../../api/client.ts'
import { invalidate, query } from '../../../api/query.ts'
import { AdminPage } from '../../../layout/admin/AdminPage.tsx'
import type { SetListSearch } from '../../../layout/lists/use-list.tsx'
import type { ListSearch } from '../../../lib/list-search.ts'
import { confirm } from '../../../ui/actions.ts'
import { toast } from '../../../ui/feedback/toast.ts'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { Select } from '../../../ui/inputs/Choices.tsx'
import { SessionsTable } from '../sessions/SessionsTable.tsx'
import css from '../People.module.css'
import { ApiTokensTable } from '../tokens/ApiTokensTable.tsx'

interface PageProps {
  search: ListSearch
  setSearch: SetListSearch
}

/** Sessions of all users, or of the user in the URL. */
export const SessionsPage = (props: PageProps) => (
  <AdminPage tab="sessions">
    <Sessions {...props} />
  </AdminPage>
)

const everyone = 'all'

/** The user in the URL, or everybody. Anything but a UUID counts as everybody. */
const whoseOf = (search: ListSearch): string =>
  /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(search['user'] ?? '')
    ? search['user']!
    : everyone

const everyUser = query(userList, { query: { per_page: 1000 } })

function WhoseMenu({ search, setSearch }: PageProps) {
  const { data } = useQuery(everyUser)
  const whose = whoseOf(search)
  const users = (data?.items ?? []).map((u) => ({ value: u.id, text: u.email }))
  const known =
    whose === everyone || users.some((u) => u.value === whose)
      ? users
      : [...users, { value: whose, text: data === undefined ? 'One user' : 'A removed user' }]
  return (
    <Select
      aria-label="User"
      className={css['whose']}
      value={whose}
      options={[{ value: everyone, text: 'All users' }, ...known]}
      onValue={(user) => setSearch({ user: user === everyone ? undefined : user, page: undefined })}
    />
  )
}

function Sessions(props: PageProps) {
  const whose = whoseOf(props.search)
  const { data } = useQuery(everyUser)
  const name = data?.items.find((u) => u.id === whose)?.email ?? 'this user'
  return (
    <SessionsTable {...props} whose={whose}>
      <WhoseMenu {...props} />
      {whose !== everyone && (
        <ActionButton label="End all" danger run={() => endAll(whose, name)} />
      )}
    </SessionsTable>
  )
}

const endAll = (userId: string, name: string) =>
  confirm({
    title: `End all sessions of ${name}?`,
    label: 'End sessions',
    text: 'The user is signed out everywhere. API tokens continue to work.',
    danger: true,
    act: async () => {
      const { ended } = await call(sessionEndAll, { query: { user_id: userId } })
      await invalidate(sessionList)
      toast.success(`${counted(ended, 'session')} ended`)
    },
  })

/** API tokens of all users. */
export const ApiTokensPage = (props: PageProps) => (
  <AdminPage tab="tokens">
    <ApiTokensTable {...props} whose={everyone} />
  </AdminPage>
)
