import { useQuery } from '@tanstack/react-query'
import { memo, Suspense, useCallback, useDeferredValue, useMemo, useState } from 'react'
import { unitsOf } from '#contract/capacity.ts'
import { isInDoubt, type ListedServer, serverAdd, serverList } from '#contract/servers/servers.ts'
import type { Verdict } from '#contract/rule.ts'
import { counted } from '#contract/words.ts'
import { everyCluster, everyDatacenter } from '../../../api/every.ts'
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
import type { ListSearch } from '../../../lib/list-search.ts'
import { paths } from '../../../lib/paths.ts'
import { useMedia } from '../../../lib/use-media.ts'
import type { Action } from '../../../ui/actions.ts'
import { Button, IconButton } from '../../../ui/inputs/Button.tsx'
import { Menu, type MenuItem } from '../../../ui/overlay/Menu.tsx'
import { DataTable } from '../../../ui/table/DataTable.tsx'
import { useChosen, useSelection } from '../../../ui/table/selection.ts'
import { Alert } from '../../../ui/feedback/Status.tsx'
import type { ItemResult } from '../dialogs/bulk.ts'
import { bulkActions, serverActions } from '../server-actions.ts'
import { everyRack } from './every-rack.ts'
import { committedColumns, serverColumns } from './server-columns.tsx'
import { serversQuery } from '../server-queries.ts'
import { part } from '../../../ui/part.tsx'
import css from './ServersPage.module.css'
import { useArrivals } from './arrivals.ts'

const loadDetails = () => import('../page/ServerDetails.tsx')
const ServerDetails = part(async () => ({ default: (await loadDetails()).ServerDetails }))
const preloadDetail = (s: ListedServer) =>
  void loadDetails()
    .then(({ preloadDetails }) => preloadDetails(s.id))
    .catch(() => undefined)
const idOf = (s: ListedServer) => s.id
const nameOf = (s: ListedServer) => s.name
const hrefOf = (s: ListedServer) => paths.server(s.id)
const detailOf = (s: ListedServer) => <ServerDetails server={s} />
const AddServers = part(() => import('../dialogs/AddServers.tsx'))
const loadGroups = () => import('../../../layout/groups/groups.tsx')
const GroupedServers = part(async () => ({ default: (await loadGroups()).GroupedServers }))
const ToConfirm = part(() => import('./ToConfirm.tsx'))
const FirstServer = part(() => import('./FirstServer.tsx'))

export function ServersPage({
  search,
  setSearch,
}: {
  search: ListSearch
  setSearch: SetListSearch
}) {
  const answer = useQuery(serversQuery(search))
  const { data: page, isPlaceholderData, dataUpdatedAt } = answer
  const isCommitted = useMemo(
    () =>
      search['cc'] !== undefined ||
      (page?.items.some((s) => s.capacity_commitment !== null) ?? false),
    [search, page],
  )
  const columns = isCommitted ? committedColumns : serverColumns
  const state = useList(serverList.list, columns, { search, setSearch }, answer)
  // What depends on all rows of an answer renders in slices, like the rows themselves
  // (`DataTable`), so that the user can go on typing.
  const latest = useMemo(
    () => ({ page, isPlaceholderData, dataUpdatedAt, list: JSON.stringify(search) }),
    [page, isPlaceholderData, dataUpdatedAt, search],
  )
  const later = useDeferredValue(latest)
  const { page: rendered, ...of } = later.page === undefined ? latest : later
  const selection = useSelection()
  const { chosen: selected, remember } = useChosen(selection.keys, rendered?.items, idOf)
  // The dialog stays mounted after the first opening, so that closing can be animated.
  const [adding, setAdding] = useState(false)
  if (search['add'] !== undefined && !adding) setAdding(true)

  const units = useMemo(() => selected.map((s) => unitsOf(s.hardware)), [selected])

  /** Keys of all matches, on all pages. */
  const selectMatching = async () => {
    const all = await everyPage((at) =>
      queryClient.fetchQuery(serversQuery({ ...search, page: String(at), size: undefined })),
    )
    remember(all)
    return all.map(idOf)
  }

  // Deselects servers for which the action succeeded; the others stay selected.
  const keep = selection.set
  const done = useCallback(
    (results: readonly ItemResult[]) => keep(results.flatMap((r) => (r.ok ? [] : [r.id]))),
    [keep],
  )
  const bulk = useMemo(() => bulkActions(selected, done), [selected, done])
  const commands = useMemo<Action[]>(
    () => (selected.length > 0 ? bulk : commandsToAdd(() => setSearch({ add: 'new' }))),
    [selected.length, bulk, setSearch],
  )
  useCommands(
    selected.length > 0 ? `Act on ${counted(selected.length, 'selected server')}` : 'Servers',
    commands,
  )

  const arrivals = useArrivals(
    of.list,
    of.isPlaceholderData ? undefined : rendered?.items,
    of.dataUpdatedAt,
  )
  const table = {
    ...state.table,
    tight: true,
    rowKey: idOf,
    rowName: nameOf,
    href: hrefOf,
    actions: serverActions,
    detail: detailOf,
    preloadDetail,
    selection,
    bulk: {
      actions: bulk,
      ...(units.every((u) => u !== null) && {
        note: `${units.reduce<number>((sum, u) => sum + (u ?? 0), 0)} CU`,
      }),
      matching: state.total,
      onSelectMatching: selectMatching,
    },
    empty: (
      <Suspense fallback={null}>
        <FirstServer onAdd={() => setSearch({ add: 'new' })} />
      </Suspense>
    ),
  }
  const inDoubt = rendered?.items.filter((s) => s.status !== 'deleted' && isInDoubt(s)) ?? []
  return (
    <>
      <PageCount n={page?.total} />
      <Toolbar
        state={state}
        setSearch={setSearch}
        add={allowed(serverAdd)}
        isChosen={selected.length > 0}
      />
      <div className={css['above']}>
        {/* Rendered even while empty: screen readers announce changes only of a live region that exists already. */}
        <div aria-live="polite">
          {arrivals.said !== null && (
            <Alert
              tone="ok"
              action={
                <IconButton size="small" icon="close" label="Dismiss" onClick={arrivals.dismiss} />
              }
            >
              {arrivals.said}
            </Alert>
          )}
        </div>
        {inDoubt.length > 0 && (
          <Suspense fallback={null}>
            <ToConfirm servers={inDoubt} isWhole={rendered?.total === rendered?.items.length} />
          </Suspense>
        )}
      </div>
      {search['group'] ? (
        <Suspense fallback={null}>
          <GroupedServers
            by={search['group']}
            chosen={selected}
            itemsOf={serversQuery}
            {...{ search, setSearch, table, remember }}
          />
        </Suspense>
      ) : (
        <DataTable {...table} />
      )}
      {(search['add'] !== undefined || adding) && (
        <Suspense fallback={null}>
          <AddServers state={search['add']} onState={(state) => setSearch({ add: state })} />
        </Suspense>
      )}
    </>
  )
}

const commandsToAdd = (byAddress: () => void): Action[] => [
  { label: 'Add servers', icon: 'add', can: allowed(serverAdd), run: byAddress },
  { label: 'Prepare image', icon: 'disk', can: allowed(serverAdd), to: paths.prepareImage() },
  { label: 'Join tokens', icon: 'key', to: paths.joinTokens() },
  { label: 'Bare metal by BMC', icon: 'power', to: paths.bmcs() },
]

/** The ways to add servers. The links need the same permission as the dialog. */
const waysToAdd = (can: Verdict, byAddress: () => void): MenuItem[] => [
  {
    label: 'By address',
    icon: 'search',
    note: 'Servers that run Talos: addresses or a range',
    can,
    run: byAddress,
  },
  {
    label: 'Prepare image',
    icon: 'disk',
    note: 'For a USB stick, a virtual medium or PXE',
    can,
    to: paths.prepareImage(),
  },
  {
    label: 'Join tokens',
    icon: 'key',
    note: 'What lets servers join by themselves',
    to: paths.joinTokens(),
  },
  {
    label: 'Bare metal by BMC',
    icon: 'power',
    note: 'Servers that nobody has booted yet',
    to: paths.bmcs(),
  },
]

interface ToolbarProps {
  state: ListState<typeof serverList.list>
  setSearch: SetListSearch
  /**
   * Whether the user may add servers. Preparing an image needs the same permission, so links to it
   * don't load the contract of images.
   */
  add: Verdict
  /** Whether servers are selected: the primary button is then in the bar of the selection. */
  isChosen: boolean
}

/**
 * Renders again only if what it shows has changed: an answer to a search mostly changes nothing
 * here.
 */
const Toolbar = memo(
  ServersToolbar,
  ({ state: was, ...before }, { state: now, ...props }) =>
    was.search === now.search &&
    was.shown === now.shown &&
    was.isEmpty === now.isEmpty &&
    before.setSearch === props.setSearch &&
    before.add.ok === props.add.ok &&
    before.isChosen === props.isChosen,
)

function ServersToolbar({ state, setSearch, add, isChosen }: ToolbarProps) {
  const { data: datacenters } = useQuery(everyDatacenter)
  // The filter of clusters is behind a button until it is set.
  const [isFiltering, setFiltering] = useState(false)
  const { data: clusters } = useQuery({
    ...everyCluster,
    enabled: isFiltering || state.search['cluster'] !== undefined,
  })
  const { data: racks } = useQuery({
    ...everyRack,
    enabled: isFiltering || state.search['rack'] !== undefined,
  })
  const wide = useMedia('from', 'xl')
  const options = {
    datacenter: (datacenters?.items ?? []).map((d) => ({
      value: d.code,
      text: d.code,
      hint: d.city_name,
    })),
    cluster: (clusters?.items ?? []).map((c) => ({
      value: c.name,
      text: c.name,
      hint: c.datacenter.code,
    })),
    rack: (racks?.items ?? []).map((r) => ({
      value: r.id,
      text: r.name,
      hint: r.datacenter.code,
    })),
  }
  return (
    <ListToolbar
      state={state}
      placeholder={wide ? 'Name, id, serial, address or cluster' : 'Name, serial or address'}
      options={options}
      onFilters={() => setFiltering(true)}
    >
      {!state.isEmpty && (
        <Menu
          label="Add servers"
          items={waysToAdd(add, () => setSearch({ add: 'new' }))}
          trigger={
            <Button
              kind={isChosen ? 'plain' : 'primary'}
              icon="add"
              iconAfter="chevron-down"
              aria-label="Add servers"
            >
              <span className="hide-sm">Add servers</span>
            </Button>
          }
        />
      )}
    </ListToolbar>
  )
}
