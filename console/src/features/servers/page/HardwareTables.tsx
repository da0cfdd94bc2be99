import type { Resources } from '#contract/servers/servers.ts'
import { computeUnits } from '#contract/capacity.ts'
import { contentOf, notByDefault } from '#contract/servers/disks.ts'
import { truncate } from '../../../lib/text.ts'
import { disk as diskSize, memory as memorySize } from '../../../lib/units.ts'
import { Copyable } from '../../../ui/text/Copyable.tsx'
import { StatusDot } from '../../../ui/feedback/Status.tsx'
import { deviceName, devicePath, diskType, memoryLines, processorLines, shortProduct, shortVendor, sumKnown } from './hardware.ts'
import css from './HardwareTables.module.css'

const unknown = <span className="t3">Unknown</span>

/** "64 CU", or null if cores or memory are unknown. */
export function cuNote(resources: Resources): string | null {
  const cu = computeUnits(resources)
  return cu === null ? null : `${cu} CU`
}

export const storageNote = (resources: Resources): string | null => {
  const bytes = sumKnown(resources.disks.map((d) => d.size))
  return bytes === null ? null : diskSize(bytes)
}

export function Processors({ processors }: { processors: Resources['processors'] }) {
  if (processors.length === 0) return unknown
  return (
    <table className={css['tbl']}>
      <thead>
        <tr>
          <th scope="col">Model</th>
          <th scope="col" className={css['r']}>
            Units
          </th>
          <th scope="col" className={css['r']}>
            Cores
          </th>
          <th scope="col" className={css['r']}>
            Threads
          </th>
          <th scope="col" className={css['r']}>
            GHz
          </th>
        </tr>
      </thead>
      <tbody>
        {processorLines(processors).map((p) => (
          <tr key={`${p.model} ${p.cores} ${p.maxMhz}`}>
            <td className={css['rest']} title={p.model}>
              {p.model}
            </td>
            <td className={css['r']}>{p.units}</td>
            <td className={css['r']}>{p.cores ?? unknown}</td>
            <td className={css['r']}>{p.threads ?? unknown}</td>
            <td className={css['r']}>{p.maxMhz === null ? unknown : Number((p.maxMhz / 1000).toFixed(2))}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

export function Memory({ modules }: { modules: Resources['memory'] }) {
  const lines = memoryLines(modules)
  if (lines.length === 0) return unknown
  return (
    <table className={css['tbl']}>
      <thead className="sr">
        <tr>
          <th scope="col">Maker</th>
          <th scope="col">Modules</th>
          <th scope="col">Total</th>
        </tr>
      </thead>
      <tbody>
        {lines.map((m) => (
          <tr key={`${m.maker} ${m.moduleBytes}`}>
            <td className={css['rest']}>{m.maker}</td>
            <td className={css['r']}>
              {m.modules} × {m.moduleBytes === null ? 'unknown' : memorySize(m.moduleBytes)}
            </td>
            <td className={`${css['r']} strong`}>{m.totalBytes === null ? unknown : memorySize(m.totalBytes)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

export function Links({ links, names = false }: { links: Resources['interfaces']; names?: boolean }) {
  if (links.length === 0) return unknown
  return (
    <table className={css['tbl']}>
      <thead className={names ? undefined : 'sr'}>
        <tr>
          <th scope="col">Link</th>
          {names && <th scope="col">Name</th>}
          <th scope="col">MAC</th>
          <th scope="col" className={css['wide']}>
            Driver
          </th>
          <th scope="col" className={names ? css['wide'] : undefined}>
            Vendor
          </th>
        </tr>
      </thead>
      <tbody>
        {links.map((link) => (
          <tr key={link.id}>
            <td>
              {link.link_state === undefined ? (
                <StatusDot quiet tone="off">
                  Unknown
                </StatusDot>
              ) : (
                <StatusDot quiet tone={link.link_state ? 'ok' : 'off'}>
                  {link.link_state ? 'Up' : 'Down'}
                </StatusDot>
              )}
            </td>
            {names && <td className="mono">{link.id}</td>}
            <td title={link.id}>{link.hardware_addr ? <Copyable value={link.hardware_addr} what={`MAC address of ${link.id}`} /> : unknown}</td>
            <td className={css['wide']}>{link.driver ?? <span className="t3">–</span>}</td>
            <td className={`${css['rest']} ${css['quiet']} ${names ? css['wide'] : ''}`} title={[link.vendor, link.product].filter(Boolean).join(' ')}>
              {link.vendor ? shortVendor(link.vendor) : <span className="t3">–</span>}
              {link.product !== undefined && <span className={css['xl']}> {shortProduct(link.product)}</span>}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

export function Disks({ disks, long = false }: { disks: Resources['disks']; long?: boolean }) {
  if (disks.length === 0) return <p className="fs13 t3">No disks were found.</p>
  return (
    <table className={`${css['tbl']} ${css['disks']}`}>
      <thead>
        <tr>
          <th scope="col">Device</th>
          <th scope="col">Model</th>
          <th scope="col" className={css['r']}>
            Size
          </th>
          <th scope="col" className={css['wide']}>
            Type
          </th>
          <th scope="col">Holds</th>
          <th scope="col">WWID</th>
        </tr>
      </thead>
      <tbody>
        {disks.map((d) => (
          <tr key={d.id}>
            <td>
              <Copyable value={devicePath(d.id)} what="device" shown={deviceName(d.id)} />
            </td>
            <td className={`${css['rest']} ${css['plain']}`}>
              {d.model ? <Copyable mono={false} value={d.model} what={`model of ${deviceName(d.id)}`} /> : unknown}
            </td>
            <td className={`${css['r']} ${css['plain']}`}>
              {d.size === undefined ? (
                unknown
              ) : (
                <Copyable mono={false} value={String(d.size)} what={`size of ${deviceName(d.id)} in bytes`} shown={diskSize(d.size)} />
              )}
            </td>
            <td className={css['wide']}>{diskType(d.type)}</td>
            <td className={css['holds']}>{[notByDefault(d), contentOf(d)].filter(Boolean).join(', ')}</td>
            <td className={css['wwid']}>
              {d.wwid ? (
                <Copyable
                  value={d.wwid}
                  what={`WWID of ${deviceName(d.id)}`}
                  shown={long ? truncate(d.wwid, 20, 10) : truncate(d.wwid.replace(/^(?:naa|eui|t10|nvme)\./, ''), 4, 4)}
                />
              ) : (
                unknown
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
