import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { imageCreate } from '#contract/images.ts'
import {
  canRevokeJoinToken,
  canUseJoinToken,
  type JoinToken,
  joinTokenCreate,
  joinTokenList,
  joinTokenRevoke,
} from '#contract/join-tokens.ts'
import { all } from '#contract/rule.ts'
import { call } from '../../api/client.ts'
import { invalidate } from '../../api/query.ts'
import { allowed } from '../../api/session.ts'
import { useCommands } from '../../layout/search/commands.ts'
import { createJoinToken } from '../../layout/modals.ts'
import { ListToolbar, type SetListSearch, useList } from '../../layout/lists/use-list.tsx'
import type { ListSearch } from '../../lib/list-search.ts'
import { PageCount } from '../../layout/navigation/Breadcrumbs.tsx'
import { paths } from '../../lib/paths.ts'
import { exact } from '../../lib/time/time.ts'
import { useNow } from '../../lib/time/use-now.ts'
import { type Action, confirm } from '../../ui/actions.ts'
import { toast } from '../../ui/feedback/toast.ts'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { DataTable } from '../../ui/table/DataTable.tsx'
import { listColumns, none, Time } from '../../ui/table/list-columns.tsx'
import { Empty } from '../../ui/feedback/States.tsx'
import { StatusDot } from '../../ui/feedback/Status.tsx'
import { Arrivals } from './Arrivals.tsx'
import { tokensQuery, expiryOf, statusNow, tokenStates, usesOf } from './tokens.ts'

const actionsOf = (t: JoinToken): Action[] => [
  {
    label: 'Prepare image',
    icon: 'disk',
    can: all(allowed(imageCreate), canUseJoinToken(t)),
    to: paths.prepareImage({ token: t.id }),
  },
  {
    label: 'Revoke',
    icon: 'trash',
    danger: true,
    can: all(allowed(joinTokenRevoke), canRevokeJoinToken(t)),
    run: () =>
      confirm({
        title: `Revoke ${t.name}?`,
        label: 'Revoke',
        text: 'No server can announce itself with this token any more. Machines that boot an image with this token still start and wait in maintenance mode, but are not listed. Servers that joined with the token stay. This can’t be undone.',
        danger: true,
        act: async () => {
          await call(joinTokenRevoke, { params: { id: t.id } })
          await invalidate(joinTokenList)
          toast.success(`${t.name} was revoked`)
        },
      }),
  },
]

/** Actions on a join token, for row menu and ⌘K. */
const tokenActions = (t: JoinToken): Action[] => actionsOf({ ...t, status: statusNow(t) })

function State({ token }: { token: JoinToken }) {
  const { tone, word } = tokenStates[statusNow(token, useNow(true))]
  return <StatusDot tone={tone}>{word}</StatusDot>
}

function Expiry({ token }: { token: JoinToken }) {
  const now = useNow(true)
  return token.expires_at === null ? (
    'Never'
  ) : (
    <time dateTime={token.expires_at} title={exact(token.expires_at)} className="num">
      {expiryOf(token, now)}
    </time>
  )
}

const tokenColumns = listColumns(joinTokenList.list, {
  name: { fixed: true, card: 'name', width: (from) => (from.md ? undefined : 150) },
  status: {
    card: 'state',
    width: 98,
    cell: (t) => <State token={t} />,
  },
  uses: {
    card: 'fact',
    width: 92,
    cell: (t) => (
      <span className="num">
        {usesOf(t)}
        <span className="only-sm"> {t.uses === 1 && t.max_uses === null ? 'use' : 'uses'}</span>
      </span>
    ),
  },
  expires_at: {
    width: 92,
    cell: (t) => <Expiry token={t} />,
  },
  datacenter: {
    width: 98,
    cell: (t) =>
      t.datacenter === null ? (
        none
      ) : (
        <a className="t2" href={paths.servers({ datacenter: t.datacenter.code })}>
          {t.datacenter.code}
        </a>
      ),
  },
  last_used: {
    width: 110,
    from: 'md',
    cell: (t) =>
      t.last_used_at === null ? <span className="t3">Never</span> : <Time at={t.last_used_at} />,
  },
  created_at: { width: 110, from: 'md' },
  created_by: { from: 'md' },
})

const detailOf = (t: JoinToken) => <Arrivals token={t} />

/** The join tokens. An opened row shows which machines have announced themselves with the token. */
export function JoinTokensPage({
  search,
  setSearch,
}: {
  search: ListSearch
  setSearch: SetListSearch
}) {
  const answer = useQuery({ ...tokensQuery(search), placeholderData: keepPreviousData })
  const { data } = answer
  const state = useList(joinTokenList.list, tokenColumns, { search, setSearch }, answer)
  const commands = useMemo<Action[]>(
    () => [
      {
        label: 'Create join token',
        icon: 'key',
        can: allowed(joinTokenCreate),
        run: () => createJoinToken({}),
      },
    ],
    [],
  )
  useCommands('Join tokens', commands)
  const add = (
    <ActionButton
      label="Create token"
      kind="primary"
      icon="add"
      can={allowed(joinTokenCreate)}
      run={() => createJoinToken({})}
    />
  )
  return (
    <>
      <h1 className="sr">Join tokens</h1>
      <PageCount n={data?.total} />
      <ListToolbar state={state} placeholder="Name" options={{}} saves={false}>
        {!state.isEmpty && add}
      </ListToolbar>
      <DataTable
        {...state.table}
        rowKey={(t) => t.id}
        rowName={(t) => t.name}
        actions={tokenActions}
        detail={detailOf}
        empty={
          <Empty
            title="No join tokens yet"
            text="A join token lets servers that boot an image of yours appear here by themselves. The token only allows a server to announce itself; it gives no other access."
            actions={add}
          />
        }
      />
    </>
  )
}
