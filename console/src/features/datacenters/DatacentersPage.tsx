import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import {
  canRemoveDatacenter,
  type Datacenter,
  datacenterCreate,
  datacenterList,
  datacenterRemove,
  datacenterUpdate,
} from '#contract/datacenters.ts'
import { counted } from '#contract/words.ts'
import { call } from '../../api/client.ts'
import { invalidate, query } from '../../api/query.ts'
import { allowed } from '../../api/session.ts'
import { useCommands } from '../../layout/search/commands.ts'
import { ListToolbar, type SetListSearch, useList } from '../../layout/lists/use-list.tsx'
import { PageCount } from '../../layout/navigation/Breadcrumbs.tsx'
import { askedOf, type ListSearch } from '../../lib/list-search.ts'
import { exact } from '../../lib/time/time.ts'
import { paths } from '../../lib/paths.ts'
import { count } from '../../lib/units.ts'
import { type Action, both, confirm } from '../../ui/actions.ts'
import { toast } from '../../ui/feedback/toast.ts'
import { dialog } from '../../ui/overlay/dialogs.ts'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { DataTable } from '../../ui/table/DataTable.tsx'
import { listColumns, none } from '../../ui/table/list-columns.tsx'
import { widest } from '../../ui/table/text-width.ts'
import { countryName, Site } from '../../ui/pictures/Flag.tsx'
import { Meter } from '../../ui/pictures/Meter.tsx'
import { SiteMap } from '../../ui/pictures/SiteMap.tsx'
import { KeyValue, Panel } from '../../ui/text/Panel.tsx'
import { Empty } from '../../ui/feedback/States.tsx'
import { Badge } from '../../ui/feedback/Status.tsx'
import css from './DatacentersPage.module.css'

export const datacentersQuery = (search: ListSearch) => ({
  ...query(datacenterList, { query: askedOf(datacenterList, search) }),
  placeholderData: keepPreviousData,
})

/** Adds a datacenter, or edits the given one. */
const editDatacenter = dialog<{ edit: Datacenter | null }>(() => import('./DatacenterDialog.tsx'))

/** Actions on a datacenter, for row menu and ⌘K. */
const datacenterActions = (d: Datacenter): Action[] => [
  { label: 'Show servers', icon: 'server', to: paths.servers({ datacenter: d.code }) },
  { label: 'Show racks', icon: 'datacenter', to: paths.racks({ datacenter: d.code }) },
  {
    label: 'Edit',
    icon: 'edit',
    can: allowed(datacenterUpdate),
    run: () => editDatacenter({ edit: d }),
  },
  {
    label: 'Remove',
    icon: 'trash',
    danger: true,
    can: both(allowed(datacenterRemove), canRemoveDatacenter(d)),
    run: () =>
      confirm({
        title: `Remove ${d.code}?`,
        label: 'Remove',
        text: 'The datacenter is empty. Its code will not be used again.',
        danger: true,
        act: async () => {
          await call(datacenterRemove, { params: { id: d.id } })
          await invalidate(datacenterList)
          toast.success(`${d.code} was removed`)
        },
      }),
  },
]

const unknown = <span className="t3">Unknown</span>
const certifications = (d: Datacenter) => (
  <span className={css['badges']}>
    {d.certifications.map((c) => (
      <Badge key={c}>{c}</Badge>
    ))}
  </span>
)

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
      cell: (d) => <Site code={d.code} country={d.country_code} />,
    },
    country: {
      from: 'lg',
      width: { least: 84, most: 160 },
      cell: (d) => countryName(d.country_code),
    },
    city_name: {
      card: 'fact',
      width: (from) => (from.md ? { least: 130, most: 220 } : undefined),
      cell: (d) => d.city_name,
    },
    tier: {
      width: 110,
      from: 'md',
      cell: (d) =>
        d.tier === null ? (
          unknown
        ) : (
          <>
            {d.tier} <span className="t3">declared</span>
          </>
        ),
    },
    certifications: {
      from: 'lg',
      width: (_from, rows) => ({
        least: 120,
        most: widest(
          rows.map((d) => d.certifications.join(', ')),
          { least: 120, most: 400, more: 20 },
        ),
      }),
      cell: ({ certifications: held }) =>
        held.length === 0 ? none : <span title={held.join(', ')}>{held.join(', ')}</span>,
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
      cell: (d) =>
        linked(d.clusters, paths.clusters({ datacenter: d.code }), `clusters of ${d.code}`),
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
          value={d.compute_units.total - d.compute_units.free}
          of={d.compute_units.total}
          scale={most}
          label={`Compute units of ${d.code} in clusters`}
          text={`${count(d.compute_units.free)} of ${count(d.compute_units.total)} free`}
        />
      ),
    },
  })

/** The datacenters: a map and a table. */
export function DatacentersPage({
  search,
  setSearch,
}: {
  search: ListSearch
  setSearch: SetListSearch
}) {
  const answer = useQuery(datacentersQuery(search))
  const { data } = answer
  const most = Math.max(1, ...(data?.items ?? []).map((d) => d.compute_units.total))
  const cols = useMemo(() => tableColumns(most), [most])
  const state = useList(datacenterList.list, cols, { search, setSearch }, answer)
  const commands = useMemo<Action[]>(
    () => [
      {
        label: 'Add datacenter',
        icon: 'add',
        can: allowed(datacenterCreate),
        run: () => editDatacenter({ edit: null }),
      },
    ],
    [],
  )
  useCommands('Datacenters', commands)
  const add = (
    <ActionButton
      label="Add datacenter"
      kind="primary"
      icon="add"
      can={allowed(datacenterCreate)}
      run={() => editDatacenter({ edit: null })}
    />
  )
  return (
    <>
      <PageCount n={data?.total} />
      {data !== undefined && data.items.length > 0 && <SitesPanel items={data.items} />}
      <ListToolbar state={state} placeholder="Code or city" options={{}} saves={false}>
        <ActionButton label="Racks" icon="grip" to={paths.racks()} />
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
        empty={
          <Empty
            title="No datacenters yet"
            text="Add the site where your servers stand."
            actions={add}
          />
        }
        foot={data && data.total > data.per_page && state.table.foot}
      />
    </>
  )
}

/** Detail of a datacenter's row. */
function DatacenterDetails({ datacenter: d }: { datacenter: Datacenter }) {
  return (
    <div className={css['detail']}>
      <KeyValue
        rows={[
          ['Facility', d.facility ?? unknown],
          ['Address', d.address ?? unknown],
          ['Country', countryName(d.country_code)],
          [
            'Coordinates',
            d.latitude === null || d.longitude === null ? unknown : `${d.latitude}, ${d.longitude}`,
          ],
        ]}
      />
      <KeyValue
        rows={[
          ['Tier', d.tier === null ? unknown : `Tier ${d.tier}, declared`],
          [
            'Certifications',
            d.certifications.length === 0 ? (
              <span className="t3">None declared</span>
            ) : (
              certifications(d)
            ),
          ],
          ['Power', d.power_capacity_kw === null ? unknown : `${d.power_capacity_kw} kW`],
          ['Racks', d.rack_capacity === null ? unknown : count(d.rack_capacity)],
        ]}
      />
      <KeyValue
        rows={[
          [
            'Notes',
            d.notes === null || d.notes === '' ? (
              <span className="t3">None</span>
            ) : (
              <span className={css['notes']}>{d.notes}</span>
            ),
          ],
          ['Added', exact(d.created_at)],
        ]}
      />
    </div>
  )
}

/** Map of the datacenters with known coordinates. The table below is the accessible version. */
function SitesPanel({ items }: { items: readonly Datacenter[] }) {
  const sites = items.flatMap((d) =>
    d.latitude !== null && d.longitude !== null
      ? [
          {
            id: d.id,
            name: d.code,
            note: counted(d.servers, 'server'),
            latitude: d.latitude,
            longitude: d.longitude,
            weight: d.compute_units.total,
            href: paths.servers({ datacenter: d.code }),
          },
        ]
      : [],
  )
  if (sites.length === 0) return null
  const missing = items.length - sites.length
  return (
    <Panel className={css['map']}>
      <div className={css['world']}>
        <SiteMap label="Map of the datacenters; the table below lists them" sites={sites} />
      </div>
      {missing > 0 && (
        <p className={`fs12 t3 ${css['missing']}`}>
          {counted(missing, 'datacenter')} without coordinates {missing === 1 ? 'is' : 'are'} not on
          the map.
        </p>
      )}
    </Panel>
  )
}
