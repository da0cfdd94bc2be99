import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query'
import { useMemo } from 'react'
import { type JoinToken, joinTokenCreate, joinTokenStatuses } from '#contract/join-tokens.ts'
import type { PageProps } from '../../api/page.ts'
import { useTablePreferences } from '../../api/preferences.ts'
import { allowed } from '../../api/session.ts'
import { useCommands } from '../../layout/commands.ts'
import { createJoinToken } from '../../layout/modals.ts'
import { PageCount } from '../../layout/PageCount.tsx'
import { paths } from '../../lib/paths.ts'
import { exact, moment } from '../../lib/time.ts'
import { useMedia } from '../../lib/use-media.ts'
import type { Action } from '../../ui/actions.ts'
import { Button } from '../../ui/inputs/Button.tsx'
import { columns, ColumnsMenu, DataTable, SortMenu } from '../../ui/table/DataTable.tsx'
import { Filter } from '../../ui/table/Filter.tsx'
import { Pager } from '../../ui/table/Pager.tsx'
import { Search } from '../../ui/inputs/Search.tsx'
import { Empty, Stale } from '../../ui/feedback/States.tsx'
import { StatusDot } from '../../ui/feedback/Status.tsx'
import { Arrivals } from './Arrivals.tsx'
import { tokenActions } from './token-actions.ts'
import { tokensQuery } from './token-queries.ts'
import { defaultSize, defaultSort, isFiltered, noFilters } from './token-search.ts'
import { expiryOf, tokenStates, usesOf } from './token-state.ts'

const none = <span className="t3">–</span>
const when = (at: string) => (
  <time className="num" dateTime={at} title={exact(at)}>
    {moment(at)}
  </time>
)

const tokenColumns = columns<JoinToken>([
  { id: 'name', head: 'Name', sortable: true, fixed: true, card: 'name', width: (from) => (from.md ? undefined : 150), cell: (t) => t.name },
  {
    id: 'status',
    head: 'Status',
    sortable: true,
    card: 'state',
    width: 98,
    cell: (t) => <StatusDot tone={tokenStates[t.status].tone}>{tokenStates[t.status].word}</StatusDot>,
  },
  {
    id: 'uses',
    head: 'Uses',
    help: 'One use is one machine, by its UUID. A machine that boots again uses nothing.',
    sortable: true,
    card: 'fact',
    width: 92,
    cell: (t) => (
      <span className="num">
        {usesOf(t)}
        <span className="only-sm"> {t.uses === 1 && t.max_uses === null ? 'use' : 'uses'}</span>
      </span>
    ),
  },
  {
    id: 'expires_at',
    head: 'Expires',
    sortable: true,
    width: 92,
    cell: (t) =>
      t.expires_at === null ? (
        'Never'
      ) : (
        <time dateTime={t.expires_at} title={exact(t.expires_at)} className="num">
          {expiryOf(t)}
        </time>
      ),
  },
  {
    id: 'datacenter',
    head: 'Datacenter',
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
  {
    id: 'last_used',
    head: 'Last used',
    width: 110,
    from: 'md',
    cell: (t) => (t.last_used_at === null ? <span className="t3">Never</span> : when(t.last_used_at)),
  },
  { id: 'created_at', head: 'Created', sortable: true, width: 110, from: 'md', cell: (t) => when(t.created_at) },
  { id: 'created_by', head: 'By', from: 'md', cell: (t) => t.created_by ?? none },
])

const statusOptions = joinTokenStatuses.map((value) => ({ value, text: tokenStates[value].word }))
const detailOf = (t: JoinToken) => <Arrivals token={t} />

/** The join tokens. Each row opens its announcements. */
export function JoinTokensPage({ search, setSearch }: Pick<PageProps<'/infra/servers/join-tokens'>, 'search' | 'setSearch'>) {
  const client = useQueryClient()
  const { data, error, isRefetchError, refetch, dataUpdatedAt } = useQuery({ ...tokensQuery(search), placeholderData: keepPreviousData })
  const { shown, setShown } = useTablePreferences('join-tokens')
  const narrow = useMedia('below', 'sm')
  const actions = useMemo(() => (t: JoinToken) => tokenActions(client, t), [client])
  const commands = useMemo<Action[]>(() => [{ label: 'Create join token', icon: 'key', can: allowed(joinTokenCreate), run: () => createJoinToken({}) }], [])
  useCommands('Join tokens', commands)
  const sort = search.sort ?? defaultSort
  const onSort = (next: string) => setSearch({ sort: next === defaultSort ? undefined : next, page: undefined })
  const add = (
    <Button kind="primary" icon="add" can={allowed(joinTokenCreate)} onClick={() => void createJoinToken({})}>
      Create token
    </Button>
  )
  // The empty list has the button already.
  const isEmpty = data?.total === 0 && !isFiltered(search)
  return (
    <>
      <h1 className="sr">Join tokens</h1>
      <PageCount n={data?.total} />
      <div className="toolbar">
        <Search label="Search join tokens" placeholder="Name" value={search.q ?? ''} onValue={(q) => setSearch({ q, page: undefined })} />
        <Filter<string> label="Status" value={search.status ?? ''} options={statusOptions} onValue={(status) => setSearch({ status, page: undefined })} />
        {narrow && <SortMenu columns={tokenColumns} sort={sort} onSort={onSort} />}
        <span className="row right">
          {!narrow && <ColumnsMenu columns={tokenColumns} shown={shown} onShown={setShown} />}
          {!isEmpty && add}
        </span>
      </div>
      <DataTable
        label="Join tokens"
        noun="join token"
        rows={data?.items}
        columns={tokenColumns}
        rowKey={(t) => t.id}
        rowName={(t) => t.name}
        actions={actions}
        detail={detailOf}
        sort={sort}
        onSort={onSort}
        shown={shown}
        filtered={isFiltered(search)}
        onReset={() => setSearch(noFilters)}
        error={error}
        onRetry={() => void refetch()}
        notice={isRefetchError && <Stale at={dataUpdatedAt} error={error} onRetry={() => void refetch()} />}
        empty={
          <Empty
            title="No join tokens yet"
            text="A join token lets servers that boot an image of yours appear here by themselves. It is a right to announce oneself, not a secret to trust."
            actions={add}
          />
        }
        onFirstPage={data !== undefined && data.total > 0 && (() => setSearch({ page: undefined }))}
        foot={
          data &&
          data.total > 0 && (
            <Pager
              page={data.page}
              perPage={data.per_page}
              total={data.total}
              plural={data.total === 1 ? 'join token' : 'join tokens'}
              onPage={(page) => setSearch({ page: page === 1 ? undefined : String(page) }, { push: true })}
              onPerPage={(n) => setSearch({ size: n === defaultSize ? undefined : String(n), page: undefined })}
            />
          )
        }
      />
    </>
  )
}
