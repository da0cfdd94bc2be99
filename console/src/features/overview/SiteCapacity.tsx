import type { ReactNode } from 'react'
import { counted } from '#contract/words.ts'
import { count, disk, memory } from '../../lib/units.ts'
import { KeyValue } from '../../ui/text/Panel.tsx'
import type { Site } from './CapacityPanel.tsx'
import css from './SiteCapacity.module.css'

/** The capacity of a site: total, in clusters, and free. */
export default function SiteCapacity({ of: site }: { of: Site }) {
  const row = (what: string, amount: Site['vcpu'], shown: (n: number) => string): [string, ReactNode] => [
    what,
    <span key={what} className="num">
      {shown(amount.total)} in all, {shown(amount.in_clusters)} in clusters, <b>{shown(amount.free)} free</b>
    </span>,
  ]
  return (
    <KeyValue
      className={css['in']!}
      rows={[
        row('Compute units', site.compute_units, (n) => `${count(n)} CU`),
        row('vCPU', site.vcpu, count),
        row('RAM', site.memory_bytes, memory),
        row('Disk', site.disk_bytes, disk),
        site.unknown_servers > 0 && ['Left out', `${counted(site.unknown_servers, 'server')} of unknown hardware`],
      ]}
    />
  )
}
