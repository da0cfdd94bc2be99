import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query'
import { useMemo } from 'react'
import { type Datacenter, datacenterCreate, datacenterList } from '#contract/datacenters.ts'
import type { Asked } from '#contract/operation.ts'
import type { PageProps, Search as SearchOf } from '../../api/page.ts'
import { useTablePreferences } from '../../api/preferences.ts'
import { query } from '../../api/query.ts'
import { allowed } from '../../api/session.ts'
import { useCommands } from '../../layout/commands.ts'
import { PageCount } from '../../layout/PageCount.tsx'
import { pageNumber, sortAmong } from '../../lib/list-search.ts'
import { paths } from '../../lib/paths.ts'
import { count } from '../../lib/units.ts'
import { useMedia } from '../../lib/use-media.ts'
import type { Action } from '../../ui/actions.ts'
import { Button } from '../../ui/inputs/Button.tsx'
import { columns, ColumnsMenu, DataTable } from '../../ui/table/DataTable.tsx'
import { Flag, countryName } from '../../ui/pictures/Flag.tsx'
import { Meter } from '../../ui/pictures/Meter.tsx'
import { Pager } from '../../ui/table/Pager.tsx'
import { Search } from '../../ui/inputs/Search.tsx'
import { Empty, Stale } from '../../ui/feedback/States.tsx'
import { Badge } from '../../ui/feedback/Status.tsx'
import { DatacenterDetails } from './DatacenterDetails.tsx'
import { datacenterActions, editDatacenter } from './datacenter-actions.ts'
import css from './DatacentersPage.module.css'
import { SitesPanel } from './SitesPanel.tsx'

/** What stands in the address. */
type DatacenterSearch = SearchOf<'/infra/datacenters'>

type Ask = Asked<typeof datacenterList>['query']
const sorts = ['code', 'city_name', 'tier', 'servers', 'free'] as const

/** What is asked for a place in the address; values that nobody knows are not sent. */
export function datacenterQuery(search: DatacenterSearch): Ask {
  const sort = sortAmong(sorts, search.sort)
  return {
    page: pageNumber(search.page),
    per_page: 50,
    ...(search.q !== undefined && { q: search.q.slice(0, 200) }),
    ...(sort && { sort }),
  }
}

const detailOf = (d: Datacenter) => <DatacenterDetails datacenter={d} />

/** A count, linked to its list unless it is 0. */
const linked = (n: number, href: string, what: string) =>
  n === 0 ? (
    0
  ) : (
    <a className="t2" href={href} aria-label={`${n} ${what}`}>
      {n}
    </a>
  )

const tableColumns = (most: number) =>
  columns<Datacenter>([
    {
      id: 'code',
      head: 'Code',
      sortable: true,
      fixed: true,
      width: 132,
      card: 'name',
      cell: (d) => (
        <span className="row">
          <Flag code={d.country_code} />
          {d.code}
        </span>
      ),
    },
    { id: 'country', head: 'Country', from: 'lg', cell: (d) => countryName(d.country_code) },
    { id: 'city_name', head: 'City', sortable: true, card: 'fact', cell: (d) => d.city_name },
    {
      id: 'tier',
      head: 'Tier',
      sortable: true,
      width: 110,
      from: 'md',
      cell: (d) =>
        d.tier === null ? (
          <span className="t3">Unknown</span>
        ) : (
          <>
            {d.tier} <span className="t3">declared</span>
          </>
        ),
    },
    {
      id: 'certifications',
      head: 'Certifications',
      from: 'lg',
      cell: (d) =>
        d.certifications.length === 0 ? (
          <span className="t3">–</span>
        ) : (
          <span className={css['badges']}>
            {d.certifications.map((c) => (
              <Badge key={c}>{c}</Badge>
            ))}
          </span>
        ),
    },
    {
      id: 'servers',
      head: 'Servers',
      numeric: true,
      sortable: true,
      width: 76,
      cell: (d) => linked(d.servers, paths.servers({ datacenter: d.code }), `servers of ${d.code}`),
    },
    {
      id: 'clusters',
      head: 'Clusters',
      numeric: true,
      width: 90,
      from: 'md',
      cell: (d) => linked(d.clusters, paths.clusters({ q: d.code }), `clusters of ${d.code}`),
    },
    {
      id: 'subnets',
      head: 'Subnets',
      numeric: true,
      width: 90,
      from: 'md',
      cell: (d) => linked(d.subnets, paths.network({ datacenter: d.code }), `subnets of ${d.code}`),
    },
    {
      id: 'free',
      head: 'Free CU',
      sortable: true,
      card: 'state',
      help: 'Compute units: 1 physical core with 4 GiB of memory. Servers whose hardware is unknown are left out.',
      cell: (d) => (
        <Meter
          value={d.compute_units.free}
          of={d.compute_units.total}
          scale={most}
          label={`Free compute units of ${d.code}`}
          text={`${count(d.compute_units.free)} of ${count(d.compute_units.total)}`}
        />
      ),
    },
  ])

/** The sites: a map, and the table of them. */
export function DatacentersPage({ search, setSearch }: Pick<PageProps<'/infra/datacenters'>, 'search' | 'setSearch'>) {
  const client = useQueryClient()
  const asked = query(datacenterList, { query: datacenterQuery(search) })
  const { data, error, refetch, dataUpdatedAt } = useQuery({ ...asked, placeholderData: keepPreviousData })
  const { shown, setShown } = useTablePreferences('datacenters')
  const narrow = useMedia('below', 'sm')
  const actions = useMemo(() => (d: Datacenter) => datacenterActions(client, d), [client])
  const most = Math.max(1, ...(data?.items ?? []).map((d) => d.compute_units.total))
  const cols = useMemo(() => tableColumns(most), [most])
  const commands = useMemo<Action[]>(
    () => [{ label: 'Add datacenter', icon: 'add', can: allowed(datacenterCreate), run: () => editDatacenter({ edit: null }) }],
    [],
  )
  useCommands('Datacenters', commands)
  const add = (
    <Button kind="primary" icon="add" can={allowed(datacenterCreate)} onClick={() => void editDatacenter({ edit: null })}>
      Add datacenter
    </Button>
  )
  // The empty list has the button already.
  const isEmpty = data?.total === 0 && search.q === undefined
  return (
    <>
      <PageCount n={data?.total} />
      {data !== undefined && data.items.length > 0 && <SitesPanel items={data.items} />}
      <div className="toolbar">
        <Search label="Search datacenters" placeholder="Code or city" value={search.q ?? ''} onValue={(q) => setSearch({ q, page: undefined })} />
        <span className="row right">
          {!narrow && <ColumnsMenu columns={cols} shown={shown} onShown={setShown} />}
          {!isEmpty && add}
        </span>
      </div>
      <DataTable
        label="Datacenters"
        noun="datacenter"
        rows={data?.items}
        columns={cols}
        rowKey={(d) => d.id}
        rowName={(d) => d.code}
        href={(d) => paths.servers({ datacenter: d.code })}
        detail={detailOf}
        actions={actions}
        sort={search.sort ?? 'code'}
        onSort={(sort) => setSearch({ sort, page: undefined })}
        shown={shown}
        filtered={search.q !== undefined}
        onReset={() => setSearch({ q: undefined, page: undefined })}
        error={error}
        onRetry={() => void refetch()}
        grows
        notice={data !== undefined && error ? <Stale at={dataUpdatedAt} error={error} onRetry={() => void refetch()} /> : undefined}
        empty={<Empty title="No datacenters yet" text="Add the site where your servers stand." actions={add} />}
        onFirstPage={data !== undefined && data.total > 0 && (() => setSearch({ page: undefined }))}
        foot={
          data &&
          data.total > data.per_page && (
            <Pager page={data.page} perPage={data.per_page} total={data.total} plural="datacenters" onPage={(page) => setSearch({ page: String(page) })} />
          )
        }
      />
    </>
  )
}
