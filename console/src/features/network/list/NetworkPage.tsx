import { useQuery } from '@tanstack/react-query'
import { useEffect, useMemo } from 'react'
import { parseAddress } from '#contract/network/addresses.ts'
import {
  clusterSubnetsAssign,
  type Subnet,
  subnetCreate,
  subnetExport,
  subnetImport,
  subnetList,
} from '#contract/network/subnets.ts'
import { counted } from '#contract/words.ts'
import { everyCluster, everyDatacenter } from '../../../api/every.ts'
import { download } from '../../../api/client.ts'
import { queryClient } from '../../../api/query.ts'
import { allowed } from '../../../api/session.ts'
import { useCommands } from '../../../layout/search/commands.ts'
import { PageCount } from '../../../layout/navigation/Breadcrumbs.tsx'
import {
  ListToolbar,
  type ListState,
  type SetListSearch,
  useList,
} from '../../../layout/lists/use-list.tsx'
import { everyPage } from '../../../lib/every-page.ts'
import { type ListSearch, narrowingOf } from '../../../lib/list-search.ts'
import { later } from '../../../ui/part.tsx'
import { paths } from '../../../lib/paths.ts'
import { reasonOf } from '../../../lib/reason.ts'
import { navigate } from '../../../lib/router.ts'
import type { Action } from '../../../ui/actions.ts'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { IconButton } from '../../../ui/inputs/Button.tsx'
import { DataTable } from '../../../ui/table/DataTable.tsx'
import { dialog } from '../../../ui/overlay/dialogs.ts'
import { Menu } from '../../../ui/overlay/Menu.tsx'
import { useChosen, useSelection } from '../../../ui/table/selection.ts'
import { Empty } from '../../../ui/feedback/States.tsx'
import { toast } from '../../../ui/feedback/toast.ts'
import { subnetsQuery } from '../network-queries.ts'
import { bulkActions, subnetActions } from './subnet-actions.ts'
import { subnetColumns } from './subnet-columns.tsx'

const SubnetMap = later(() => import('./SubnetMap.tsx'))
const importSubnets = dialog(() => import('./ImportSubnets.tsx'))

const mapOf = (s: Subnet, searched: string | undefined) => (
  <SubnetMap key={`${s.id} ${searched}`} subnet={s} at={searched} />
)

const idOf = (s: Subnet) => s.id

/** Subnets with their utilisation. A row opens its address map. */
export function NetworkPage({
  search,
  setSearch,
}: {
  search: ListSearch
  setSearch: SetListSearch
}) {
  const answer = useQuery(subnetsQuery(search))
  const { data: page } = answer
  const state = useList(subnetList.list, subnetColumns, { search, setSearch }, answer)
  const selection = useSelection()
  const { chosen: selected, remember } = useChosen(selection.keys, page?.items, idOf)

  /** Keys of all matches, on all pages. */
  const selectMatching = async () => {
    const found = await everyPage((at) =>
      queryClient.fetchQuery(subnetsQuery({ ...search, page: String(at), size: '1000' })),
    )
    remember(found)
    return found.map(idOf)
  }

  const general = useMemo<[Action, Action, Action, Action]>(
    () => [
      {
        label: 'Add subnet',
        icon: 'add',
        can: allowed(subnetCreate),
        run: () => navigate(paths.addSubnet({ datacenter: search['datacenter'] })),
      },
      {
        label: 'Assign subnets',
        icon: 'cluster',
        can: allowed(clusterSubnetsAssign),
        run: () => navigate(paths.assignSubnets()),
      },
      {
        label: 'Import subnets',
        icon: 'arrow-up',
        can: allowed(subnetImport),
        run: () => importSubnets(),
      },
      {
        label: 'Export subnets',
        icon: 'download',
        can: allowed(subnetExport),
        run: () => exportList(search),
      },
    ],
    [search],
  )
  const bulk = useMemo(() => bulkActions(selected, selection.clear), [selected, selection.clear])
  useCommands(
    selected.length > 0 ? `Act on ${counted(selected.length, 'selected subnet')}` : 'Network',
    selected.length > 0 ? bulk : general,
  )
  const [add, , bring] = general

  // Preloads the map's code before the first row opens.
  const any = (page?.items.length ?? 0) > 0
  useEffect(() => {
    if (any) SubnetMap.load()
  }, [any])

  const [q, open] = [search['q'], search['open']]
  const searched = q !== undefined && parseAddress(q) !== null ? q : undefined
  const opened = useMemo(() => new Set(open === undefined ? [] : [open]), [open])
  // A search for an address opens the map of the subnet that contains it.
  const only = searched !== undefined && page?.items.length === 1 ? page.items[0]!.id : undefined
  useEffect(() => {
    if (only !== undefined) setSearch({ open: only })
  }, [only, setSearch])

  return (
    <>
      <PageCount n={page?.total} />
      <Toolbar state={state} actions={general} />
      <DataTable
        {...state.table}
        rowKey={idOf}
        rowName={(s) => s.name}
        actions={subnetActions}
        detail={(s) => mapOf(s, searched)}
        opened={opened}
        // Only one map is open at a time: the map of the row that was clicked last.
        onOpened={(keys) => setSearch({ open: [...keys].at(-1) })}
        selection={selection}
        grows
        bulk={{
          actions: bulk,
          matching: state.total,
          onSelectMatching: selectMatching,
        }}
        empty={
          <Empty
            title="No subnets yet"
            text="Add a range that your network routes to the servers of a datacenter. A cluster assigns the addresses of its subnets to Services."
            actions={
              <>
                <ActionButton {...add} kind="primary" />
                <ActionButton {...bring} label="Import" icon={undefined} />
              </>
            }
          />
        }
      />
    </>
  )
}

const exportList = (search: ListSearch): Promise<unknown> =>
  download(subnetExport, { query: narrowingOf(subnetList, search) }, 'subnets.csv').catch(
    (problem: unknown) => toast.error(reasonOf(problem)),
  )

function Toolbar({
  state,
  actions: [add, assign, bring, save],
}: {
  state: ListState<typeof subnetList.list>
  actions: [Action, Action, Action, Action]
}) {
  const { data: datacenters } = useQuery(everyDatacenter)
  const { data: clusters } = useQuery(everyCluster)
  const cluster = state.search['cluster']
  // The filter in the URL may be a cluster's id. Show the cluster's name.
  const named = clusters?.items.find((c) => c.id === cluster)?.name
  const shown =
    named === undefined ? state : { ...state, search: { ...state.search, cluster: named } }
  const options = {
    cluster: (clusters?.items ?? []).map((c) => ({
      value: c.name,
      text: c.name,
      hint: c.datacenter.code,
    })),
    datacenter: (datacenters?.items ?? []).map((d) => ({
      value: d.code,
      text: d.code,
      hint: d.city_name,
    })),
  }
  return (
    <ListToolbar state={shown} placeholder="Name, CIDR or address" options={options}>
      <Menu
        label="More actions"
        items={[assign, bring, save]}
        trigger={<IconButton icon="more" label="More actions" />}
      />
      {!state.isEmpty && <ActionButton {...add} kind="primary" />}
    </ListToolbar>
  )
}
