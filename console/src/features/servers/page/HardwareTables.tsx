import type { ListedServer, Resources } from '#contract/servers/servers.ts'
import { unitsOf } from '#contract/capacity.ts'
import { contentOf, notByDefault } from '#contract/disks/choice.ts'
import { truncate } from '../../../lib/text.ts'
import { disk as diskSize, memory as memorySize } from '../../../lib/units.ts'
import { Copyable } from '../../../ui/text/Copyable.tsx'
import { type PlainColumn, PlainTable } from '../../../ui/table/PlainTable.tsx'
import { StatusDot } from '../../../ui/feedback/Status.tsx'
import {
  deviceName,
  devicePath,
  diskType,
  isHardwareKnown,
  memoryLines,
  processorLines,
  shortProduct,
  shortVendor,
} from './hardware.ts'
import pictureCss from './DisksPicture.module.css'
import css from './HardwareTables.module.css'
import { cx } from '../../../ui/cx.ts'

const unknown = <span className="t3">Unknown</span>

/** "64 CU", or null if cores or memory are unknown. */
export function cuNote({ hardware }: Pick<ListedServer, 'hardware'>): string | null {
  const cu = unitsOf(hardware)
  return cu === null ? null : `${cu} CU`
}

export const storageNote = ({
  hardware: { disk_bytes },
}: Pick<ListedServer, 'hardware'>): string | null =>
  disk_bytes === null ? null : diskSize(disk_bytes)

const absent = <span className="t3">–</span>

const processorColumns: readonly PlainColumn<ReturnType<typeof processorLines>[number]>[] = [
  {
    head: 'Model',
    props: ({ model }) => ({ className: css['rest'], title: model }),
    cell: (p) => p.model,
  },
  { head: 'Units', className: css['r'], cell: (p) => p.units },
  { head: 'Cores', className: css['r'], cell: (p) => p.cores ?? unknown },
  { head: 'Threads', className: css['r'], cell: (p) => p.threads ?? unknown },
  {
    head: 'GHz',
    className: css['r'],
    cell: (p) => (p.maxMhz === null ? unknown : Number((p.maxMhz / 1000).toFixed(2))),
  },
]

export const Processors = ({ processors }: Pick<Resources, 'processors'>) =>
  processors.length === 0 ? (
    unknown
  ) : (
    <PlainTable
      className={css['tbl']}
      columns={processorColumns}
      rows={processorLines(processors)}
    />
  )

const memoryColumns: readonly PlainColumn<ReturnType<typeof memoryLines>[number]>[] = [
  { head: 'Maker', props: () => ({ className: css['rest'] }), cell: (m) => m.maker },
  {
    head: 'Modules',
    className: css['r'],
    cell: (m) => `${m.modules} × ${m.moduleBytes === null ? 'unknown' : memorySize(m.moduleBytes)}`,
  },
  {
    head: 'Total',
    className: cx(css['r'], 'strong'),
    cell: (m) => (m.totalBytes === null ? unknown : memorySize(m.totalBytes)),
  },
]

export function Memory({ modules }: { modules: Resources['memory'] }) {
  const lines = memoryLines(modules)
  return lines.length === 0 ? (
    unknown
  ) : (
    <PlainTable className={css['tbl']} headClassName="sr" columns={memoryColumns} rows={lines} />
  )
}

const linkStatus = ({ link_state: up }: Resources['interfaces'][number]) => (
  <StatusDot quiet tone={up ? 'ok' : 'off'}>
    {up === undefined ? 'Unknown' : up ? 'Up' : 'Down'}
  </StatusDot>
)

/**
 * Columns of the table of network links. `names`: whether there is room for a column with the
 * links' names.
 */
const linkColumns = (
  names: boolean,
): readonly (PlainColumn<Resources['interfaces'][number]> | false)[] => [
  { head: 'Link', cell: linkStatus },
  names && { head: 'Name', props: () => ({ className: 'mono' }), cell: (link) => link.id },
  {
    head: 'MAC',
    props: ({ id }) => ({ title: id }),
    cell: (link) =>
      link.hardware_addr ? (
        <Copyable value={link.hardware_addr} what={`MAC address of ${link.id}`} />
      ) : (
        unknown
      ),
  },
  { head: 'Driver', className: css['wide'], cell: (link) => link.driver ?? absent },
  {
    head: 'Vendor',
    className: names ? css['wide'] : undefined,
    props: ({ vendor, product }) => ({
      className: cx(css['rest'], css['quiet'], names && css['wide']),
      title: [vendor, product].filter(Boolean).join(' '),
    }),
    cell: ({ vendor, product }) => (
      <>
        {vendor ? shortVendor(vendor) : absent}
        {product !== undefined && <span className={css['xl']}> {shortProduct(product)}</span>}
      </>
    ),
  },
]

export const Links = ({
  links,
  names = false,
}: {
  links: Resources['interfaces']
  names?: boolean
}) =>
  links.length === 0 ? (
    unknown
  ) : (
    <PlainTable
      className={css['tbl']}
      headClassName={names ? undefined : 'sr'}
      columns={linkColumns(names)}
      rows={links}
    />
  )

const diskColumns = (long: boolean): readonly PlainColumn<Resources['disks'][number]>[] => [
  {
    head: 'Device',
    cell: (d) => <Copyable value={devicePath(d.id)} what="device" shown={deviceName(d.id)} />,
  },
  {
    head: 'Model',
    props: () => ({ className: cx(css['rest'], css['plain']) }),
    cell: (d) =>
      d.model ? (
        <Copyable mono={false} value={d.model} what={`model of ${deviceName(d.id)}`} />
      ) : (
        unknown
      ),
  },
  {
    head: 'Size',
    className: css['r'],
    props: () => ({ className: cx(css['r'], css['plain']) }),
    cell: (d) =>
      d.size === undefined ? (
        unknown
      ) : (
        <Copyable
          mono={false}
          value={String(d.size)}
          what={`size of ${deviceName(d.id)} in bytes`}
          shown={diskSize(d.size)}
        />
      ),
  },
  { head: 'Type', className: css['wide'], cell: (d) => diskType(d.type) },
  {
    head: 'Holds',
    props: () => ({ className: css['holds'] }),
    cell: (d) => [notByDefault(d), contentOf(d)].filter(Boolean).join(', '),
  },
  {
    head: 'WWID',
    props: () => ({ className: cx(css['wwid'], !long && css['narrow']) }),
    cell: (d) => {
      if (!d.wwid) return unknown
      return (
        <Copyable value={d.wwid} what={`WWID of ${deviceName(d.id)}`} shown={truncate(d.wwid)} />
      )
    },
  },
]

const NoDisks = ({ resources }: { resources: Resources }) => (
  <p className="fs13 t3">{isHardwareKnown(resources) ? 'No disks were found.' : 'Unknown'}</p>
)

export const Disks = ({ resources, long = false }: { resources: Resources; long?: boolean }) =>
  resources.disks.length === 0 ? (
    <NoDisks resources={resources} />
  ) : (
    <PlainTable
      className={cx(css['tbl'], css['disks'])}
      columns={diskColumns(long)}
      rows={resources.disks}
    />
  )

/** Disks with widths proportional to their sizes. */
export function DisksPicture({ resources }: { resources: Resources }) {
  const known = resources.disks.filter((d) => d.size !== undefined && d.size > 0)
  if (resources.disks.length === 0) return <NoDisks resources={resources} />
  if (known.length === 0) return <p className="fs13 t3">Sizes unknown</p>
  return (
    <div
      className={pictureCss['disks']}
      role="img"
      aria-label={`Disks drawn to scale: ${known.map((d) => `${deviceName(d.id)} ${diskSize(d.size ?? 0)}`).join(', ')}`}
    >
      {known.map((d) => (
        <span
          key={d.id}
          className={pictureCss['disk']}
          style={{ flexGrow: d.size }}
          title={`${devicePath(d.id)}, ${d.model ?? 'unknown model'}, ${diskSize(d.size ?? 0)}, ${diskType(d.type)}`}
        >
          <b>{diskSize(d.size ?? 0)}</b>
        </span>
      ))}
    </div>
  )
}
