import type { Overview } from '#contract/overview.ts'
import { paths } from '../../lib/paths.ts'
import { count } from '../../lib/units.ts'
import { SiteMap } from '../../ui/pictures/SiteMap.tsx'
import css from './Overview.module.css'

/** The datacenters with known coordinates, with their free capacity. The table has all of them. */
export default function CapacityMap({ capacity }: { capacity: Overview['capacity'] }) {
  const sites = capacity.flatMap((s) =>
    s.datacenter && s.datacenter.latitude !== null && s.datacenter.longitude !== null
      ? [
          {
            id: s.datacenter.id,
            name: s.datacenter.code,
            note: `${count(s.compute_units.free)} CU free`,
            latitude: s.datacenter.latitude,
            longitude: s.datacenter.longitude,
            weight: s.compute_units.total,
            href: paths.servers({ datacenter: s.datacenter.code }),
          },
        ]
      : [],
  )
  if (sites.length === 0)
    return <p className={`${css['quiet']} ${css['alone']}`}>No datacenter has coordinates.</p>
  return (
    <div className={css['map']}>
      <SiteMap label="Map of the datacenters" sites={sites} />
    </div>
  )
}
