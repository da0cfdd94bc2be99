import { useQuery, useQueryClient } from '@tanstack/react-query'
import { lazy, Suspense, useCallback, useMemo, useState } from 'react'
import { computeUnits } from '#contract/capacity.ts'
import { nodeTypes, type Server, serverAdd, serverStatuses } from '#contract/servers/servers.ts'
import { counted } from '#contract/words.ts'
import { useTablePreferences } from '../../../api/preferences.ts'
import { allowed } from '../../../api/session.ts'
import { useCommands } from '../../../layout/commands.ts'
import { PageCount } from '../../../layout/PageCount.tsx'
import { SavedViews } from '../../../layout/SavedViews.tsx'
import { paths } from '../../../lib/paths.ts'
import { sentence } from '../../../lib/text.ts'
import { useMedia } from '../../../lib/use-media.ts'
import type { Action } from '../../../ui/actions.ts'
import { Button, ButtonLink, IconButton, IconLink } from '../../../ui/inputs/Button.tsx'
import { ColumnsMenu, DataTable, SortMenu } from '../../../ui/table/DataTable.tsx'
import { Filters } from '../../../ui/table/Filters.tsx'
import { Pager } from '../../../ui/table/Pager.tsx'
import { Search } from '../../../ui/inputs/Search.tsx'
import { useChosen, useSelection } from '../../../ui/table/selection.ts'
import { Stale } from '../../../ui/feedback/States.tsx'
import { Alert } from '../../../ui/feedback/Status.tsx'
import type { ItemResult } from '../dialogs/bulk.ts'
import { useServerActions } from '../server-actions.ts'
import { serverColumns } from './server-columns.tsx'
import { datacentersQuery, serversQuery } from '../server-queries.ts'
import { defaultSize, isFiltered, noFilters, type ServerSearch, sizeOf, viewKeys } from './server-search.ts'
import css from './ServersPage.module.css'
import { ToConfirm } from './ToConfirm.tsx'
import { useArrivals } from './use-arrivals.ts'

/** Changes what stands in the address; undefined takes a key out. With `push`, "back" comes back to what was there. */
export type SetSearch = (patch: { [Key in keyof ServerSearch]: string | undefined }, how?: { push?: boolean }) => void

/** Loads with the first opened row. */
const ServerDetails = lazy(async () => ({ default: (await import('../page/ServerDetails.tsx')).ServerDetails }))
const idOf = (s: Server) => s.id
const detailOf = (s: Server) => <ServerDetails server={s} />
const AddServers = lazy(() => import('../dialogs/AddServers.tsx'))
const FirstServer = lazy(() => import('./FirstServer.tsx'))

export function ServersPage({ search, setSearch }: { search: ServerSearch; setSearch: SetSearch }) {
  const client = useQueryClient()
  const { data: page, error, isRefetchError, isPlaceholderData, dataUpdatedAt, refetch } = useQuery(serversQuery(search))
  const selection = useSelection()
  const deeds = useServerActions()
  const { chosen: selected, remember } = useChosen(selection.keys, page?.items, idOf)
  const { shown, setShown } = useTablePreferences('servers')
  const narrow = useMedia('below', 'sm')
  // Stays mounted after the first opening, for the closing animation.
  const [adding, setAdding] = useState(false)
  if (search.add !== undefined && !adding) setAdding(true)

  const units = selected.map((s) => computeUnits(s.resources))
  const sort = search.sort ?? 'name'
  /** A list that is narrowed or ordered anew begins at its first page. */
  const set = (key: keyof ServerSearch, value: string) => setSearch({ page: undefined, [key]: value === '' ? undefined : value })

  /** Everything that matches, past this page too. */
  const selectMatching = async () => {
    const all = new Map<string, Server>()
    for (let at = 1; all.size < (page?.total ?? 0); at++) {
      const { items } = await client.fetchQuery(serversQuery({ ...search, page: String(at), size: String(defaultSize) }))
      if (items.length === 0) break
      for (const s of items) all.set(s.id, s)
    }
    remember([...all.values()])
    selection.set(all.keys())
  }

  // Servers that were changed leave the selection, the others stay.
  const keep = selection.set
  const done = useCallback((results: readonly ItemResult[]) => keep(results.flatMap((r) => (r.ok ? [] : [r.id]))), [keep])
  const bulk = useMemo(() => deeds.bulk(selected, done), [deeds, selected, done])
  const commands = useMemo<Action[]>(
    () =>
      selected.length > 0
        ? bulk
        : [
            { label: 'Add servers', icon: 'add', can: allowed(serverAdd), run: () => setSearch({ add: 'new' }) },
            { label: 'Prepare image', icon: 'disk', can: allowed(serverAdd), to: paths.prepareImage() },
            { label: 'Join tokens', icon: 'key', to: paths.joinTokens() },
          ],
    [selected.length, bulk, setSearch],
  )
  useCommands(selected.length > 0 ? `Act on ${counted(selected.length, 'selected server')}` : 'Servers', commands)

  const arrivals = useArrivals(JSON.stringify(search), isPlaceholderData ? undefined : page?.items, dataUpdatedAt)
  const total = page?.total ?? 0
  const size = sizeOf(search)
  return (
    <>
      <PageCount n={page?.total} />
      <Toolbar
        search={search}
        set={set}
        narrow={narrow}
        sort={sort}
        shown={shown}
        onShown={setShown}
        setSearch={setSearch}
        isEmpty={page?.total === 0 && !isFiltered(search)}
        onAdd={() => setSearch({ add: 'new' })}
      />
      <div className={css['above']}>
        {/* A live region from the start, so that screen readers announce its changes. */}
        <div aria-live="polite">
          {arrivals.said !== null && (
            <Alert tone="ok" action={<IconButton size="small" icon="close" label="Dismiss" onClick={arrivals.dismiss} />}>
              {arrivals.said}
            </Alert>
          )}
        </div>
        <ToConfirm servers={page?.items ?? []} />
      </div>
      <DataTable
        label="Servers"
        noun="server"
        rows={page?.items}
        columns={serverColumns}
        rowKey={idOf}
        rowName={(s) => s.name}
        href={(s) => paths.server(s.id)}
        actions={deeds.actions}
        detail={detailOf}
        sort={sort}
        onSort={(next) => set('sort', next)}
        shown={shown}
        selection={selection}
        bulk={{
          actions: bulk,
          ...(units.every((u) => u !== null) && { note: `${units.reduce<number>((sum, u) => sum + (u ?? 0), 0)} CU` }),
          matching: total,
          onSelectMatching: () => void selectMatching(),
        }}
        filtered={isFiltered(search)}
        onReset={() => setSearch(noFilters)}
        error={error}
        onRetry={() => void refetch()}
        notice={isRefetchError && <Stale at={dataUpdatedAt} error={error} onRetry={() => void refetch()} />}
        empty={
          <Suspense fallback={null}>
            <FirstServer onAdd={() => setSearch({ add: 'new' })} />
          </Suspense>
        }
        onFirstPage={total > 0 && (() => setSearch({ page: undefined }))}
        foot={
          total > 0 && (
            <Pager
              page={page?.page ?? 1}
              perPage={page?.per_page ?? size}
              total={total}
              plural={total === 1 ? 'server' : 'servers'}
              onPage={(to) => setSearch({ page: to === 1 ? undefined : String(to) }, { push: true })}
              onPerPage={(n) => set('size', n === defaultSize ? '' : String(n))}
            />
          )
        }
      />
      {(search.add !== undefined || adding) && (
        <Suspense fallback={null}>
          <AddServers state={search.add} onState={(state) => setSearch({ add: state })} />
        </Suspense>
      )}
    </>
  )
}

const statusOptions = serverStatuses.map((value) => ({ value, text: sentence(value) }))
const contactOptions = [
  { value: 'true', text: 'Answers' },
  { value: 'false', text: 'Unreachable' },
  { value: 'away', text: 'Away on our order' },
]
const hardwareOptions = [
  { value: 'true', text: 'Confirmed' },
  { value: 'false', text: 'To confirm' },
]
const typeOptions = nodeTypes.map((value) => ({ value, text: sentence(value) }))

interface ToolbarProps {
  search: ServerSearch
  set: (key: keyof ServerSearch, value: string) => void
  narrow: boolean
  sort: string
  shown: string[] | undefined
  onShown: (ids: string[] | undefined) => void
  setSearch: SetSearch
  /** There is none yet, and the list itself says how to come to the first: its buttons are enough. */
  isEmpty: boolean
  onAdd: () => void
}

function Toolbar({ search, set, narrow, sort, shown, onShown, setSearch, isEmpty, onAdd }: ToolbarProps) {
  const { data: datacenters } = useQuery(datacentersQuery)
  const wide = useMedia('from', 'lg')
  const widest = useMedia('from', 'xl')
  const compact = useMedia('below', 'md')
  // Images need the same permission. Their contract is not loaded for this link.
  const image = allowed(serverAdd)
  const sites = (datacenters?.items ?? []).map((d) => ({ value: d.code, text: d.code, hint: d.city_name }))
  const of = (key: 'status' | 'nodeType' | 'datacenter' | 'reachable' | 'confirmed' | 'cluster') => ({
    value: search[key] ?? '',
    onValue: (value: string) => set(key, value),
  })
  const filters = [
    { label: 'Status', ...of('status'), options: statusOptions },
    { label: 'Node type', ...of('nodeType'), options: typeOptions },
    { label: 'Datacenter', ...of('datacenter'), options: sites },
    { label: 'Contact', ...of('reachable'), options: contactOptions },
    { label: 'Hardware', ...of('confirmed'), options: hardwareOptions, tucked: !widest },
    // Links lead here with it.
    ...(search.cluster === undefined ? [] : [{ label: 'Cluster', ...of('cluster'), options: [{ value: search.cluster, text: search.cluster }] }]),
  ]
  const views = <SavedViews table="servers" search={search} keys={viewKeys} onView={setSearch} />
  return (
    <div className="toolbar">
      <Search
        label="Search servers"
        placeholder={wide || (compact && !narrow) ? 'Name, id, serial, address or cluster' : 'Name, serial or address'}
        value={search.q ?? ''}
        onValue={(q) => set('q', q)}
      />
      <Filters filters={filters} />
      {narrow && (
        <>
          <SortMenu columns={serverColumns} sort={sort} onSort={(next) => set('sort', next)} />
          {views}
        </>
      )}
      <span className="row right">
        {!narrow && views}
        {!narrow && <ColumnsMenu columns={serverColumns} shown={shown} onShown={onShown} />}
        {wide ? (
          <ButtonLink icon="key" href={paths.joinTokens()}>
            Join tokens
          </ButtonLink>
        ) : (
          <IconLink icon="key" label="Join tokens" href={paths.joinTokens()} />
        )}
        {!isEmpty && (
          <>
            {image.ok && !wide && !compact ? (
              <IconLink icon="disk" label="Prepare image" href={paths.prepareImage()} />
            ) : image.ok ? (
              <ButtonLink icon="disk" href={paths.prepareImage()}>
                Prepare image
              </ButtonLink>
            ) : (
              <Button icon="disk" can={image}>
                Prepare image
              </Button>
            )}
            <Button kind="primary" icon="add" can={allowed(serverAdd)} onClick={onAdd}>
              Add servers
            </Button>
          </>
        )}
      </span>
    </div>
  )
}
