import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { type Cluster, clusterCreate } from '#contract/clusters/clusters.ts'
import { no } from '#contract/rule.ts'
import { clusterImport } from '#contract/clusters/takeover.ts'
import type { PageProps } from '../../api/page.ts'
import { useTablePreferences } from '../../api/preferences.ts'
import { allowed } from '../../api/session.ts'
import { useCommands } from '../../layout/commands.ts'
import { PageCount } from '../../layout/PageCount.tsx'
import { SavedViews } from '../../layout/SavedViews.tsx'
import { paths } from '../../lib/paths.ts'
import { useMedia } from '../../lib/use-media.ts'
import { useGo } from '../../lib/use-search.ts'
import type { Action } from '../../ui/actions.ts'
import { Button } from '../../ui/inputs/Button.tsx'
import { columns, ColumnsMenu, DataTable, nameWidth, SortMenu } from '../../ui/table/DataTable.tsx'
import { Flag } from '../../ui/pictures/Flag.tsx'
import { Menu } from '../../ui/overlay/Menu.tsx'
import { Pager } from '../../ui/table/Pager.tsx'
import { Search } from '../../ui/inputs/Search.tsx'
import { useChosen, useSelection } from '../../ui/table/selection.ts'
import { Empty, Stale } from '../../ui/feedback/States.tsx'
import { StatusReason } from '../../ui/feedback/Status.tsx'
import { showKeys, useClusterActions } from './cluster-actions.ts'
import { clustersQuery, defaultSize } from './cluster-queries.ts'
import { canShowNewKeys, clusterSaid, versionShown } from './cluster-state.ts'

const clusterColumns = columns<Cluster>([
  { id: 'name', head: 'Name', sortable: true, fixed: true, card: 'name', width: (from) => (from.md ? nameWidth : 164), cell: (c) => c.name },
  {
    id: 'datacenter',
    head: 'Location',
    sortable: true,
    width: 116,
    card: 'fact',
    cell: (c) => (
      <span className="row">
        <Flag code={c.datacenter.country_code} />
        {c.datacenter.code}
      </span>
    ),
  },
  {
    id: 'servers',
    head: 'Servers',
    help: 'Control planes + workers',
    width: 94,
    from: 'md',
    cell: (c) => (
      <span className="num" title={`${c.control_planes} control plane, ${c.workers} worker`}>
        {c.control_planes} + {c.workers}
      </span>
    ),
  },
  { id: 'kubernetes_version', head: 'Kubernetes', sortable: true, width: 108, from: 'md', cell: (c) => versionShown(c.kubernetes_version) },
  { id: 'talos_version', head: 'Talos', sortable: true, width: 84, from: 'md', cell: (c) => versionShown(c.talos_version) },
  {
    id: 'subnets',
    head: 'IP subnets',
    from: 'xl',
    width: 170,
    cell: (c) => (c.subnets.length === 0 ? <span className="t3">–</span> : <span className="mono">{c.subnets.map((s) => s.cidr).join(', ')}</span>),
  },
  {
    id: 'status',
    head: 'Status',
    sortable: true,
    card: 'state',
    cell: (c) => {
      const { tone, word, why } = clusterSaid(c)
      return (
        <StatusReason tone={tone} why={why} tall>
          {word}
        </StatusReason>
      )
    },
  },
])

const viewKeys = ['q', 'sort'] as const

const idOf = (c: Cluster) => c.id

export function ClustersPage({ search, setSearch }: Pick<PageProps<'/infra/clusters/'>, 'search' | 'setSearch'>) {
  const { data: page, error, isRefetchError, dataUpdatedAt, refetch } = useQuery(clustersQuery(search))
  const go = useGo()
  const selection = useSelection()
  const { shown, setShown } = useTablePreferences('clusters')
  const narrow = useMedia('below', 'sm')
  const sort = search.sort ?? 'name'
  const onSort = (to: string) => setSearch({ sort: to, page: undefined })
  const actions = useClusterActions('list')
  const items = useMemo(() => page?.items ?? [], [page])
  const { chosen } = useChosen(selection.keys, page?.items, idOf)

  const create = useMemo<Action>(() => ({ label: 'Create cluster', icon: 'add', can: allowed(clusterCreate), run: () => go(paths.createCluster()) }), [go])
  const take = useMemo<Action>(() => ({ label: 'Import cluster', icon: 'download', can: allowed(clusterImport), run: () => go(paths.importCluster) }), [go])
  const fresh = items.filter((c) => c.offerId === null)
  const menu = useMemo<Action[]>(
    () => [
      {
        label: chosen.length > 0 ? `Show cluster keys of ${chosen.length} selected` : 'Show cluster keys of the selected',
        icon: 'key',
        can: chosen.length > 0 ? undefined : no('Select clusters first'),
        run: () => showKeys(chosen),
      } as Action,
      {
        label: 'Show cluster keys of all new',
        icon: 'key',
        hint: `${fresh.length}`,
        can: canShowNewKeys(items),
        run: () => showKeys(fresh),
      },
      take,
    ],
    [chosen, fresh, items, take],
  )
  const commands = useMemo(() => [create, ...menu], [create, menu])
  useCommands('Clusters', commands)

  const createButton = (
    <Button kind="primary" icon="add" can={create.can} onClick={() => void create.run?.()}>
      Create cluster
    </Button>
  )
  const firstButtons = (
    <>
      {createButton}
      <Button can={take.can} onClick={() => void take.run?.()}>
        Import cluster
      </Button>
    </>
  )
  // The empty list has the button already.
  const isEmpty = page?.total === 0 && search.q === undefined
  const total = page?.total ?? 0
  return (
    <>
      <PageCount n={page?.total} />
      <div className="toolbar">
        <Search
          label="Search clusters"
          placeholder="Name, datacenter, version or status"
          value={search.q ?? ''}
          onValue={(q) => setSearch({ q: q === '' ? undefined : q, page: undefined })}
        />
        {narrow && <SortMenu columns={clusterColumns} sort={sort} onSort={onSort} />}
        <span className="row right">
          {!narrow && (
            <>
              <SavedViews table="clusters" search={search} keys={viewKeys} onView={setSearch} />
              <ColumnsMenu columns={clusterColumns} shown={shown} onShown={setShown} />
            </>
          )}
          <Menu label="Actions" trigger={<Button iconAfter="chevron-down">Actions</Button>} items={menu} />
          {!isEmpty && createButton}
        </span>
      </div>
      <DataTable
        label="Clusters"
        noun="cluster"
        rows={page?.items}
        columns={clusterColumns}
        rowKey={idOf}
        rowName={(c) => c.name}
        href={(c) => paths.cluster(c.id)}
        actions={actions}
        sort={sort}
        onSort={onSort}
        shown={shown}
        selection={selection}
        bulk={{ actions: [{ label: 'Show cluster keys', icon: 'key', run: () => showKeys(chosen) }] }}
        filtered={search.q !== undefined}
        onReset={() => setSearch({ q: undefined, page: undefined })}
        error={error}
        onRetry={() => void refetch()}
        notice={isRefetchError && <Stale at={dataUpdatedAt} error={error} onRetry={() => void refetch()} />}
        empty={
          <Empty
            title="No clusters yet"
            text="Choose free servers of a datacenter; Steelyard makes a Kubernetes cluster of them. Or import one that runs already."
            actions={firstButtons}
          />
        }
        onFirstPage={total > 0 && (() => setSearch({ page: undefined }))}
        foot={
          total > 0 && (
            <Pager
              page={page?.page ?? 1}
              perPage={page?.per_page ?? defaultSize}
              total={total}
              plural={total === 1 ? 'cluster' : 'clusters'}
              onPage={(to) => setSearch({ page: to === 1 ? undefined : String(to) }, { push: true })}
              onPerPage={(n) => setSearch({ size: String(n), page: undefined })}
            />
          )
        }
      />
    </>
  )
}
