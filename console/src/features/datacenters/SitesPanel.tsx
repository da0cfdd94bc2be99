import type { Datacenter } from '#contract/datacenters.ts'
import { counted } from '#contract/words.ts'
import { paths } from '../../lib/paths.ts'
import { Panel } from '../../ui/text/Panel.tsx'
import { SiteMap } from '../../ui/pictures/SiteMap.tsx'
import css from './DatacentersPage.module.css'

/** Map of the sites with known coordinates. The table below is the accessible version. */
export function SitesPanel({ items }: { items: readonly Datacenter[] }) {
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
          {counted(missing, 'datacenter')} without coordinates {missing === 1 ? 'is' : 'are'} not on the map.
        </p>
      )}
    </Panel>
  )
}
