import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { type Datacenter, datacenterCreate, datacenterList } from '#contract/datacenters.ts'
import { query } from '../../api/query.ts'
import { allowed } from '../../api/session.ts'
import { useCommands } from '../../layout/search/commands.ts'
import { ListToolbar, type SetListSearch, useList } from '../../layout/lists/use-list.tsx'
import { PageCount } from '../../layout/navigation/Breadcrumbs.tsx'
import { askedOf, type ListSearch } from '../../lib/list-search.ts'
import { paths } from '../../lib/paths.ts'
import { count } from '../../lib/units.ts'
import type { Action } from '../../ui/actions.ts'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { DataTable } from '../../ui/table/DataTable.tsx'
import { listColumns } from '../../ui/table/list-columns.tsx'
import { Flag, countryName } from '../../ui/pictures/Flag.tsx'
import { Meter } from '../../ui/pictures/Meter.tsx'
import { Empty } from '../../ui/feedback/States.tsx'
import { Badge } from '../../ui/feedback/Status.tsx'
import { DatacenterDetails } from './DatacenterDetails.tsx'
import { datacenterActions, editDatacenter } from './datacenter-actions.ts'
import css from './DatacentersPage.module.css'
import { SitesPanel } from './SitesPanel.tsx'

export const datacentersQuery = (search: ListSearch) => ({
  ...query(datacenterList, { query: askedOf(datacenterList, search) }),
  placeholderData: keepPreviousData,
})

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
  listColumns(datacenterList.list, {
    code: {
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
    country: { from: 'lg', cell: (d) => countryName(d.country_code) },
    city_name: { card: 'fact', cell: (d) => d.city_name },
    tier: {
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
    certifications: {
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
    servers: {
      numeric: true,
      width: 76,
      cell: (d) => linked(d.servers, paths.servers({ datacenter: d.code }), `servers of ${d.code}`),
    },
    clusters: {
      numeric: true,
      width: 90,
      from: 'md',
      cell: (d) => linked(d.clusters, paths.clusters({ q: d.code }), `clusters of ${d.code}`),
    },
    subnets: {
      numeric: true,
      width: 90,
      from: 'md',
      cell: (d) => linked(d.subnets, paths.network({ datacenter: d.code }), `subnets of ${d.code}`),
    },
    free: {
      card: 'state',
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
  })

/** The sites: a map, and the table of them. */
export function DatacentersPage({ search, setSearch }: { search: ListSearch; setSearch: SetListSearch }) {
  const answer = useQuery(datacentersQuery(search))
  const { data } = answer
  const most = Math.max(1, ...(data?.items ?? []).map((d) => d.compute_units.total))
  const cols = useMemo(() => tableColumns(most), [most])
  const state = useList(datacenterList.list, cols, { search, setSearch }, answer)
  const commands = useMemo<Action[]>(
    () => [{ label: 'Add datacenter', icon: 'add', can: allowed(datacenterCreate), run: () => editDatacenter({ edit: null }) }],
    [],
  )
  useCommands('Datacenters', commands)
  const add = <ActionButton label="Add datacenter" kind="primary" icon="add" can={allowed(datacenterCreate)} run={() => editDatacenter({ edit: null })} />
  return (
    <>
      <PageCount n={data?.total} />
      {data !== undefined && data.items.length > 0 && <SitesPanel items={data.items} />}
      <ListToolbar state={state} placeholder="Code or city" views="none">
        {!state.isEmpty && add}
      </ListToolbar>
      <DataTable
        {...state.table}
        rowKey={(d) => d.id}
        rowName={(d) => d.code}
        href={(d) => paths.servers({ datacenter: d.code })}
        detail={detailOf}
        actions={datacenterActions}
        grows
        empty={<Empty title="No datacenters yet" text="Add the site where your servers stand." actions={add} />}
        foot={data && data.total > data.per_page && state.table.foot}
      />
    </>
  )
}
