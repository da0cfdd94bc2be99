import type { Datacenter } from '#contract/datacenters.ts'
import { exact } from '../../lib/time.ts'
import { count } from '../../lib/units.ts'
import { countryName } from '../../ui/pictures/Flag.tsx'
import { KeyValue } from '../../ui/text/Panel.tsx'
import { Badge } from '../../ui/feedback/Status.tsx'
import css from './DatacentersPage.module.css'

const unknown = <span className="t3">Unknown</span>

/** Detail of a datacenter's row. */
export function DatacenterDetails({ datacenter: d }: { datacenter: Datacenter }) {
  return (
    <div className={css['detail']}>
      <KeyValue
        rows={[
          ['Facility', d.facility ?? unknown],
          ['Address', d.address ?? unknown],
          ['Country', countryName(d.country_code)],
          ['Coordinates', d.latitude === null || d.longitude === null ? unknown : `${d.latitude}, ${d.longitude}`],
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
              <span className={css['badges']}>
                {d.certifications.map((c) => (
                  <Badge key={c}>{c}</Badge>
                ))}
              </span>
            ),
          ],
          ['Power', d.power_capacity_kw === null ? unknown : `${d.power_capacity_kw} kW`],
          ['Racks', d.rack_capacity === null ? unknown : count(d.rack_capacity)],
        ]}
      />
      <KeyValue
        rows={[
          ['Notes', d.notes === null || d.notes === '' ? <span className="t3">None</span> : <span className={css['notes']}>{d.notes}</span>],
          ['Added', exact(d.created_at)],
        ]}
      />
    </div>
  )
}
