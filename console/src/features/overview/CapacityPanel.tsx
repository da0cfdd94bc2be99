import { type ReactNode, Suspense, useState } from 'react'
import { noValue } from '#contract/list.ts'
import { counted } from '#contract/words.ts'
import { capacityMeasurements } from '#contract/measurements/measurements.ts'
import type { Overview } from '#contract/overview.ts'
import { allowed } from '../../api/session.ts'
import { paths } from '../../lib/paths.ts'
import { count, disk, memory } from '../../lib/units.ts'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { columns, DataTable } from '../../ui/table/DataTable.tsx'
import { Flag } from '../../ui/pictures/Flag.tsx'
import { Meter } from '../../ui/pictures/Meter.tsx'
import { KeyValue, Panel } from '../../ui/text/Panel.tsx'
import { Tabs } from '../../ui/text/Tabs.tsx'
import { part } from '../../ui/part.tsx'
import { Empty, SkeletonRows } from '../../ui/feedback/States.tsx'
import css from './Overview.module.css'
import siteCss from './SiteCapacity.module.css'

type Site = Overview['capacity'][number]

const CapacityTrend = part(() => import('./CapacityTrend.tsx'))
const CapacityMap = part(() => import('./CapacityMap.tsx'))

const capacityOf = (s: Site) => <SiteCapacity of={s} />

const nameOf = (s: Site) => s.datacenter?.code ?? 'No datacenter'
const listOf = (s: Site) => paths.servers({ datacenter: s.datacenter?.code ?? noValue })

const siteColumns = (scale: number) =>
  columns<Site>([
    {
      id: 'datacenter',
      head: 'Datacenter',
      card: 'name',
      cell: (s) => (
        <span className="row">
          {s.datacenter && <Flag code={s.datacenter.country_code} />}
          {nameOf(s)}
          {s.datacenter && (
            <span className={`t3 clip ${css['city']}`}>{s.datacenter.city_name}</span>
          )}
        </span>
      ),
    },
    {
      id: 'servers',
      head: 'Servers',
      numeric: true,
      width: 64,
      from: 'sm',
      cell: (s) => count(s.servers),
    },
    {
      id: 'units',
      head: 'CU, same scale',
      width: (from) => (from.xl ? 146 : from.md ? 116 : 176),
      card: 'fact',
      cell: (s) => (
        <Meter
          value={s.compute_units.in_clusters}
          of={s.compute_units.total}
          scale={scale}
          label={`Compute units of ${nameOf(s)} in clusters`}
        />
      ),
    },
    {
      id: 'used',
      head: 'In clusters',
      numeric: true,
      width: 84,
      from: 'sm',
      cell: (s) => count(s.compute_units.in_clusters),
    },
    {
      id: 'free',
      head: 'Free',
      numeric: true,
      width: 72,
      card: 'state',
      cell: (s) => (
        <>
          <b>{count(s.compute_units.free)}</b>
          <span className="only-sm"> of {count(s.compute_units.total)} CU free</span>
        </>
      ),
    },
    {
      id: 'ram',
      head: 'Free RAM',
      numeric: true,
      width: 96,
      from: 'xl',
      cell: (s) => memory(s.memory_bytes.free),
    },
  ])

const places = [
  { id: 'datacenters', text: 'By datacenter' },
  { id: 'map', text: 'Map' },
] as const

/** Capacity per datacenter: as bars with a common scale, and on a map. */
export function CapacityPanel({ capacity }: { capacity: Overview['capacity'] }) {
  const [place, setPlace] = useState<string>('datacenters')
  const hasServers = capacity.some((s) => s.servers > 0)
  const scale = Math.max(1, ...capacity.map((s) => s.compute_units.total))
  return (
    <Panel
      title="Capacity"
      flush
      note={
        <span className={css['legend']}>
          <span>
            <i className={css['used']} />
            In clusters
          </span>
          <span>
            <i className={css['free']} />
            Free
          </span>
        </span>
      }
      actions={<a href={paths.datacenters()}>Datacenters</a>}
    >
      {hasServers && allowed(capacityMeasurements).ok && (
        <Suspense fallback={<SkeletonRows rows={4} />}>
          <CapacityTrend />
        </Suspense>
      )}
      <div className={css['places']}>
        <Tabs label="Capacity" tabs={places} current={place} onChange={setPlace} />
      </div>
      {place === 'map' ? (
        <Suspense fallback={<SkeletonRows rows={4} />}>
          <CapacityMap capacity={capacity} />
        </Suspense>
      ) : (
        <div className={css['inner']}>
          <DataTable
            label="Capacity per datacenter"
            rows={capacity}
            columns={siteColumns(scale)}
            rowKey={(s) => s.datacenter?.id ?? 'none'}
            rowName={nameOf}
            href={listOf}
            detail={capacityOf}
            grows
            empty={
              <Empty
                title="No datacenters yet"
                text="Add the site where your servers stand."
                actions={<ActionButton label="Datacenters" to={paths.datacenters()} />}
              />
            }
          />
        </div>
      )}
    </Panel>
  )
}

/** The capacity of a datacenter: total, in clusters, and free. */
function SiteCapacity({ of: site }: { of: Site }) {
  const row = (
    what: string,
    amount: Site['vcpu'],
    shown: (n: number) => string,
  ): [string, ReactNode] => [
    what,
    <span key={what} className="num">
      {shown(amount.total)} in all, {shown(amount.in_clusters)} in clusters,{' '}
      <b>{shown(amount.free)} free</b>
    </span>,
  ]
  return (
    <KeyValue
      className={siteCss['in']!}
      rows={[
        row('Compute units', site.compute_units, (n) => `${count(n)} CU`),
        row('vCPU', site.vcpu, count),
        row('RAM', site.memory_bytes, memory),
        row('Disk', site.disk_bytes, disk),
        site.unknown_servers > 0 && [
          'Left out',
          `${counted(site.unknown_servers, 'server')} of unknown hardware`,
        ],
      ]}
    />
  )
}
