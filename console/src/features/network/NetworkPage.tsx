import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useEffect, useMemo } from 'react'
import { parseAddress } from '#contract/network/addresses.ts'
import { clusterSubnetsAssign, type Subnet, subnetCreate, subnetExport, subnetImport, subnetStatuses } from '#contract/network/subnets.ts'
import { counted } from '#contract/words.ts'
import { download } from '../../api/client.ts'
import { useTablePreferences } from '../../api/preferences.ts'
import { allowed } from '../../api/session.ts'
import { useCommands } from '../../layout/commands.ts'
import { PageCount } from '../../layout/PageCount.tsx'
import { SavedViews } from '../../layout/SavedViews.tsx'
import { later } from '../../lib/later.ts'
import { paths } from '../../lib/paths.ts'
import { reasonOf } from '../../lib/reason.ts'
import { sentence } from '../../lib/text.ts'
import { useGo } from '../../lib/use-search.ts'
import { useMedia } from '../../lib/use-media.ts'
import type { Action } from '../../ui/actions.ts'
import { Button, IconButton } from '../../ui/inputs/Button.tsx'
import { ColumnsMenu, DataTable, SortMenu } from '../../ui/table/DataTable.tsx'
import { Filters } from '../../ui/table/Filters.tsx'
import { dialog } from '../../ui/overlay/dialogs.ts'
import { Menu } from '../../ui/overlay/Menu.tsx'
import { Pager } from '../../ui/table/Pager.tsx'
import { Search } from '../../ui/inputs/Search.tsx'
import { useChosen, useSelection } from '../../ui/table/selection.ts'
import { Empty, Stale } from '../../ui/feedback/States.tsx'
import { toast } from '../../ui/feedback/toast.ts'
import { clustersQuery, datacentersQuery, subnetsQuery } from './network-queries.ts'
import { defaultSize, filterQuery, isFiltered, type NetworkSearch, noFilters, types, viewKeys } from './network-search.ts'
import { useSubnetDeeds } from './subnet-actions.ts'
import { subnetColumns } from './subnet-columns.tsx'

const SubnetMap = later(() => import('./SubnetMap.tsx'))
const importSubnets = dialog(() => import('./ImportDialog.tsx'))

const mapOf = (s: Subnet, searched: string | undefined) => <SubnetMap key={`${s.id} ${searched}`} subnet={s} at={searched} />

type SetSearch = (change: { [Key in keyof NetworkSearch]: string | undefined }, how?: { push?: boolean }) => void

const idOf = (s: Subnet) => s.id

/** Subnets with their utilisation. A row opens its address map. */
export function NetworkPage({ search, setSearch }: { search: NetworkSearch; setSearch: SetSearch }) {
  const client = useQueryClient()
  const go = useGo()
  const { data: page, error, isRefetchError, dataUpdatedAt, refetch } = useQuery(subnetsQuery(search))
  const selection = useSelection()
  const deeds = useSubnetDeeds()
  const { chosen: selected, remember } = useChosen(selection.keys, page?.items, idOf)
  const { shown, setShown } = useTablePreferences('subnets')
  const sort = search.sort ?? 'name'
  /** A list that is narrowed or ordered anew begins at its first page. */
  const set = (key: keyof NetworkSearch, value: string) => setSearch({ page: undefined, [key]: value === '' ? undefined : value })

  /** Selects all matches, on all pages. */
  const selectMatching = async () => {
    const found = new Map<string, Subnet>()
    for (let at = 1; found.size < (page?.total ?? 0); at++) {
      const { items } = await client.fetchQuery(subnetsQuery({ ...search, page: String(at), size: '1000' }))
      if (items.length === 0) break
      for (const s of items) found.set(s.id, s)
    }
    remember([...found.values()])
    selection.set(found.keys())
  }

  const general = useMemo<Action[]>(
    () => [
      { label: 'Add subnet', icon: 'add', can: allowed(subnetCreate), run: () => go(paths.addSubnet({ datacenter: search.datacenter })) },
      { label: 'Assign subnets', icon: 'cluster', can: allowed(clusterSubnetsAssign), run: () => go(paths.assignSubnets()) },
      { label: 'Import subnets', icon: 'arrow-up', can: allowed(subnetImport), run: () => importSubnets() },
      { label: 'Export subnets', icon: 'download', can: allowed(subnetExport), run: () => exportList(search) },
    ],
    [go, search],
  )
  const bulk = deeds.bulk(selected, selection.clear)
  const commands = useMemo(() => (selected.length > 0 ? deeds.bulk(selected, selection.clear) : general), [deeds, selected, selection.clear, general])
  useCommands(selected.length > 0 ? `Act on ${counted(selected.length, 'selected subnet')}` : 'Network', commands)
  const [add, assign, bring, save] = general as [Action, Action, Action, Action]

  // Preloads the map's code before the first row opens.
  const any = (page?.items.length ?? 0) > 0
  useEffect(() => {
    if (any) SubnetMap.load()
  }, [any])

  const searched = search.q !== undefined && parseAddress(search.q) !== null ? search.q : undefined
  const opened = useMemo(() => new Set(search.open === undefined ? [] : [search.open]), [search.open])
  // A search for an address opens the map of the subnet that contains it.
  const only = searched !== undefined && page?.items.length === 1 ? page.items[0]!.id : undefined
  useEffect(() => {
    if (only !== undefined) setSearch({ open: only })
  }, [only, setSearch])

  const total = page?.total ?? 0
  return (
    <>
      <PageCount n={page?.total} />
      <Toolbar
        search={search}
        set={set}
        sort={sort}
        add={add}
        assign={assign}
        bring={bring}
        save={save}
        isEmpty={page?.total === 0 && !isFiltered(search)}
        choices={
          <>
            <SavedViews table="subnets" search={search} keys={viewKeys} onView={setSearch} />
            <ColumnsMenu columns={subnetColumns} shown={shown} onShown={setShown} />
          </>
        }
      />
      <DataTable
        label="Subnets"
        noun="subnet"
        rows={page?.items}
        columns={subnetColumns}
        rowKey={idOf}
        rowName={(s) => s.name}
        actions={deeds.actions}
        detail={(s) => mapOf(s, searched)}
        opened={opened}
        // One map at a time: the last one clicked.
        onOpened={(keys) => setSearch({ open: [...keys].at(-1) })}
        sort={sort}
        onSort={(next) => set('sort', next)}
        shown={shown}
        selection={selection}
        grows
        bulk={{ actions: bulk, matching: total, onSelectMatching: () => void selectMatching() }}
        filtered={isFiltered(search)}
        onReset={() => setSearch(noFilters)}
        error={error}
        onRetry={() => void refetch()}
        notice={isRefetchError && <Stale at={dataUpdatedAt} error={error} onRetry={() => void refetch()} />}
        empty={
          <Empty
            title="No subnets yet"
            text="Add the space that your network routes to the servers of a datacenter. A cluster that is given a subnet hands out its addresses to Services."
            actions={
              <>
                <Button kind="primary" icon="add" can={add.can} onClick={() => void add.run?.()}>
                  Add subnet
                </Button>
                <Button can={bring.can} onClick={() => void bring.run?.()}>
                  Import
                </Button>
              </>
            }
          />
        }
        onFirstPage={total > 0 && (() => setSearch({ page: undefined }))}
        foot={
          total > 0 && (
            <Pager
              page={page?.page ?? 1}
              perPage={page?.per_page ?? defaultSize}
              total={total}
              plural={total === 1 ? 'subnet' : 'subnets'}
              onPage={(to) => setSearch({ page: to === 1 ? undefined : String(to), open: undefined }, { push: true })}
              onPerPage={(n) => set('size', n === defaultSize ? '' : String(n))}
            />
          )
        }
      />
    </>
  )
}

async function exportList(search: NetworkSearch): Promise<void> {
  try {
    await download(subnetExport, { query: filterQuery(search) }, 'subnets.csv')
  } catch (problem) {
    toast.error(reasonOf(problem))
  }
}

const statusOptions = subnetStatuses.map((value) => ({ value, text: sentence(value) }))
const typeOptions = types.map((value) => ({ value, text: value }))

function Toolbar({
  search,
  set,
  sort,
  add,
  assign,
  bring,
  save,
  isEmpty,
  choices,
}: {
  search: NetworkSearch
  set: (key: keyof NetworkSearch, value: string) => void
  sort: string
  add: Action
  assign: Action
  bring: Action
  save: Action
  /** The list is empty and has its own button. */
  isEmpty: boolean
  /** Menus of views and columns. */
  choices: ReactNode
}) {
  const narrow = useMedia('below', 'sm')
  const { data: datacenters } = useQuery(datacentersQuery)
  const { data: clusters } = useQuery(clustersQuery)
  const of = (key: 'cluster' | 'datacenter' | 'status' | 'type') => ({ value: search[key] ?? '', onValue: (value: string) => set(key, value) })
  const filters = [
    {
      label: 'Cluster',
      ...of('cluster'),
      // The URL may have a cluster's id.
      value: clusters?.items.find((c) => c.id === search.cluster)?.name ?? search.cluster ?? '',
      options: (clusters?.items ?? []).map((c) => ({ value: c.name, text: c.name, hint: c.datacenter.code })),
    },
    { label: 'Datacenter', ...of('datacenter'), options: (datacenters?.items ?? []).map((d) => ({ value: d.code, text: d.code, hint: d.city_name })) },
    { label: 'Status', ...of('status'), options: statusOptions },
    { label: 'Type', ...of('type'), options: typeOptions },
  ]
  return (
    <div className="toolbar">
      <Search label="Search subnets" placeholder="Name, CIDR or address" value={search.q ?? ''} onValue={(q) => set('q', q)} />
      <Filters filters={filters} />
      {narrow && <SortMenu columns={subnetColumns} sort={sort} onSort={(next) => set('sort', next)} />}
      <span className="row right">
        {!narrow && choices}
        <Menu label="More actions" items={narrow ? [assign, bring, save] : [bring, save]} trigger={<IconButton icon="more" label="More actions" />} />
        {!narrow && (
          <Button can={assign.can} onClick={() => void assign.run?.()}>
            Assign subnets
          </Button>
        )}
        {!isEmpty && (
          <Button kind="primary" icon="add" can={add.can} aria-label="Add subnet" onClick={() => void add.run?.()}>
            {narrow ? 'Add' : 'Add subnet'}
          </Button>
        )}
      </span>
    </div>
  )
}
