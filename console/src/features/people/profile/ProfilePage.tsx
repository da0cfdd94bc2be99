import { useQuery } from '@tanstack/react-query'
import { sessionEndAll, sessionList } from '#contract/sessions.ts'
import { counted } from '#contract/words.ts'
import { call } from '../../../api/client.ts'
import { invalidate } from '../../../api/query.ts'
import type { SetListSearch } from '../../../layout/lists/use-list.tsx'
import type { ListSearch } from '../../../lib/list-search.ts'
import { paths } from '../../../lib/paths.ts'
import { confirm } from '../../../ui/actions.ts'
import { Pending } from '../../../ui/feedback/PageStates.tsx'
import { toast } from '../../../ui/feedback/toast.ts'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { Tabs } from '../../../ui/text/Tabs.tsx'
import { profileQuery } from '../people-queries.ts'
import css from '../People.module.css'
import { SessionsTable } from '../sessions/SessionsTable.tsx'
import { ApiTokensTable } from '../tokens/ApiTokensTable.tsx'
import { Account } from './Account.tsx'
import { Security } from './Security.tsx'

const tabs = {
  account: 'Account',
  security: 'Sign-in and security',
  sessions: 'Sessions',
  tokens: 'API tokens',
} as const
type Tab = keyof typeof tabs

interface ProfilePageProps {
  search: ListSearch
  setSearch: SetListSearch
}

/** The user's own account. The tab is in the URL, and so is the state of the list in the tab. */
export function ProfilePage({ search, setSearch }: ProfilePageProps) {
  const current = Object.hasOwn(tabs, search['tab'] ?? '') ? (search['tab'] as Tab) : 'account'
  const answer = useQuery(profileQuery)
  const { data: profile } = answer
  return (
    <>
      <Tabs
        label="Profile"
        current={current}
        tabs={Object.entries(tabs).map(([id, text]) => ({
          id,
          text,
          href: paths.profile({ tab: id }),
        }))}
      />
      <div className={css['tab']}>
        {current === 'sessions' && (
          <SessionsTable search={search} setSearch={setSearch} whose={undefined}>
            <ActionButton label="End all other sessions" danger run={endOthers} />
          </SessionsTable>
        )}
        {current === 'tokens' && (
          <ApiTokensTable search={search} setSearch={setSearch} whose={undefined} />
        )}
        {(current === 'account' || current === 'security') &&
          (profile === undefined ? (
            <Pending of={answer} rows={6} />
          ) : current === 'account' ? (
            <Account profile={profile} />
          ) : (
            <Security profile={profile} />
          ))}
      </div>
    </>
  )
}

const endOthers = () =>
  confirm({
    title: 'End all other sessions?',
    label: 'End sessions',
    text: 'You are signed out everywhere but here. API tokens continue to work.',
    danger: true,
    act: async () => {
      const { ended } = await call(sessionEndAll)
      await invalidate(sessionList)
      toast.success(`${counted(ended, 'session')} ended`)
    },
  })
