import { useQuery } from '@tanstack/react-query'
import {
  type ApiToken,
  apiTokenCreate,
  apiTokenList,
  apiTokenRevoke,
} from '#contract/people/api-tokens.ts'
import { call } from '../../../api/client.ts'
import { invalidate } from '../../../api/query.ts'
import { allowed } from '../../../api/session.ts'
import { ListToolbar, type SetListSearch, useList } from '../../../layout/lists/use-list.tsx'
import { PageCount } from '../../../layout/navigation/Breadcrumbs.tsx'
import { paths } from '../../../lib/paths.ts'
import type { ListSearch } from '../../../lib/list-search.ts'
import { exact, until } from '../../../lib/time/time.ts'
import { useNow } from '../../../lib/time/use-now.ts'
import { type Action, confirm } from '../../../ui/actions.ts'
import { Empty } from '../../../ui/feedback/States.tsx'
import { StatusDot } from '../../../ui/feedback/Status.tsx'
import { toast } from '../../../ui/feedback/toast.ts'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { dialog } from '../../../ui/overlay/dialogs.ts'
import { DataTable } from '../../../ui/table/DataTable.tsx'
import { listColumns, Time } from '../../../ui/table/list-columns.tsx'
import { strongPx, widest } from '../../../ui/table/text-width.ts'
import { apiTokensQuery, type Whose } from '../people-queries.ts'

const createApiToken = dialog(() => import('./CreateApiToken.tsx'))

/** A token expires by itself, without an event. */
function State({ token }: { token: ApiToken }) {
  const now = useNow(true)
  const isUsable = token.status === 'usable' && Date.parse(token.expires_at) > now
  return <StatusDot tone={isUsable ? 'ok' : 'off'}>{isUsable ? 'Usable' : 'Expired'}</StatusDot>
}

const apiTokenColumns = listColumns(apiTokenList.list, {
  name: {
    fixed: true,
    card: 'name',
    width: (from, rows) =>
      from.md
        ? widest(
            rows.map((t) => t.name),
            { least: 110, most: from.xl ? 440 : 320, more: strongPx + 20 },
          )
        : undefined,
  },
  status: {
    card: 'state',
    width: 100,
    cell: (t) => <State token={t} />,
  },
  user: { from: 'md', width: 210, cell: (t) => <span className="clip">{t.user.email}</span> },
  scopes: {
    from: 'md',
    cell: (t) => (
      <span className="mono clip" title={t.scopes.join(', ')}>
        {t.scopes.join(', ')}
      </span>
    ),
  },
  expires_at: {
    card: 'fact',
    width: 100,
    cell: (t) => (
      <time className="num" dateTime={t.expires_at} title={exact(t.expires_at)}>
        {until(t.expires_at)}
      </time>
    ),
  },
  last_used_at: {
    from: 'md',
    width: 110,
    cell: (t) =>
      t.last_used_at === null ? <span className="t3">Never</span> : <Time at={t.last_used_at} />,
  },
})

const actionsOf = (t: ApiToken): Action[] => [
  {
    label: 'Revoke',
    icon: 'trash',
    danger: true,
    can: allowed(apiTokenRevoke),
    run: () =>
      confirm({
        title: `Revoke ${t.name}?`,
        label: 'Revoke',
        text: `Programs that use this token are refused within 5 seconds. This can’t be undone.`,
        danger: true,
        act: async () => {
          await call(apiTokenRevoke, { params: { id: t.id } })
          await invalidate(apiTokenList)
          toast.success(`${t.name} was revoked`)
        },
      }),
  },
]

/**
 * API tokens: credentials for programs. Admins see those of all users, but create only their own.
 */
export function ApiTokensTable({
  search,
  setSearch,
  whose,
}: {
  search: ListSearch
  setSearch: SetListSearch
  whose: Whose
}) {
  const answer = useQuery(apiTokensQuery(search, whose))
  const state = useList(apiTokenList.list, apiTokenColumns, { search, setSearch }, answer)
  const create = (
    <ActionButton
      label="Create API token"
      kind="primary"
      icon="add"
      can={allowed(apiTokenCreate)}
      run={() => createApiToken()}
    />
  )
  return (
    <>
      <PageCount n={whose === undefined ? undefined : answer.data?.total} />
      <ListToolbar state={state} placeholder="Name" options={{}} saves={false}>
        {whose === undefined && !state.isEmpty && create}
      </ListToolbar>
      <DataTable
        {...state.table}
        rowKey={(t) => t.id}
        rowName={(t) => t.name}
        actions={actionsOf}
        grows
        empty={
          <Empty
            title="No API tokens yet"
            text="A program signs in with an API token instead of a password: the command line, scripts, monitoring. A token has only the scopes that it was given, and ends by itself."
            actions={
              whose === undefined ? (
                create
              ) : (
                <a href={paths.profile({ tab: 'tokens' })}>Your own tokens</a>
              )
            }
          />
        }
      />
    </>
  )
}
