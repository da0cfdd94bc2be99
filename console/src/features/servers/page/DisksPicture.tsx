import type { Resources } from '#contract/servers/servers.ts'
import { disk as diskSize } from '../../../lib/units.ts'
import { deviceName, devicePath, diskType } from './hardware.ts'
import css from './DisksPicture.module.css'

/** Disks with widths proportional to their sizes. `system`: id of the disk with Talos, which is highlighted. */
export function DisksPicture({ disks, system }: { disks: Resources['disks']; system?: string | null }) {
  const known = disks.filter((d) => d.size !== undefined && d.size > 0)
  if (known.length === 0) return <p className="fs13 t3">{disks.length === 0 ? 'No disks' : 'Sizes unknown'}</p>
  return (
    <div
      className={css['disks']}
      role="img"
      aria-label={`Disks drawn to scale: ${known.map((d) => `${deviceName(d.id)} ${diskSize(d.size ?? 0)}`).join(', ')}`}
    >
      {known.map((d) => (
        <span
          key={d.id}
          className={deviceName(d.id) === system ? css['system'] : css['disk']}
          style={{ flexGrow: d.size }}
          title={`${devicePath(d.id)}, ${d.model ?? 'unknown model'}, ${diskSize(d.size ?? 0)}, ${diskType(d.type)}`}
        >
          <b>{diskSize(d.size ?? 0)}</b>
        </span>
      ))}
    </div>
  )
}
