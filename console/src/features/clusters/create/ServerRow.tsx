import type { ReactNode } from 'react'
import { unitsOf } from '#contract/capacity.ts'
import { contentOf, emptyContent, notByDefault } from '#contract/disks/choice.ts'
import { type DiskFacts, disksBeside } from '#contract/disks/disks.ts'
import type { Patch } from '#contract/patches.ts'
import type { Verdict } from '#contract/rule.ts'
import type { Server } from '#contract/servers/servers.ts'
import { paths } from '../../../lib/paths.ts'
import { disk, memory } from '../../../lib/units.ts'
import { Button } from '../../../ui/inputs/Button.tsx'
import { Segmented } from '../../../ui/inputs/Segmented.tsx'
import { Checkbox, Select } from '../../../ui/inputs/Choices.tsx'
import { Menu } from '../../../ui/overlay/Menu.tsx'
import { StatusDot } from '../../../ui/feedback/Status.tsx'
import { findingSaid, installDisks, workloadText } from './choice.ts'
import type { Chosen } from './draft.ts'
import css from './Steps.module.css'
import { onDisk } from './set-for-all.ts'

/** "64 CU, 768 GiB", for choosing a role. */
function sizeLine({ hardware }: Server): string {
  const { memory_bytes } = hardware
  const units = unitsOf(hardware)
  return [
    units === null ? 'Unknown CU' : `${units} CU`,
    memory_bytes === null ? 'unknown memory' : memory(memory_bytes),
  ].join(', ')
}

/** "64 CU, 768 GiB, 5 disks of 19.2 TB, 2 links up", for choosing a server. */
export function hardwareLine(s: Server): string {
  const { disks } = s.resources
  const size = s.hardware.disk_bytes
  const links = s.resources.interfaces.filter((i) => i.link_state === true).length
  const whole = size === null ? '' : ` of ${disk(size)}`
  return [
    sizeLine(s),
    `${disks.length} disk${disks.length === 1 ? '' : 's'}${whole}`,
    `${links} link${links === 1 ? '' : 's'} up`,
  ].join(', ')
}

/** What is wrong with a server, before its hardware, for choosing it from a select. */
export const noteOf = (s: Server): string =>
  [findingSaid(s), hardwareLine(s)].filter(Boolean).join(' ')

/** "a USB disk, empty": kind and content of a disk. */
const diskHolds = (d: DiskFacts): string =>
  [notByDefault(d), contentOf(d)].filter(Boolean).join(', ')
/**
 * "480 GB, Samsung PM9A3, empty", or for a disk with content "ext4, 480 GB, Samsung PM9A3": content
 * first, so that a narrow control shows it.
 */
export function diskLine(d: DiskFacts): string {
  const what = [d.size ? disk(d.size) : '', d.model]
  return (diskHolds(d) === emptyContent ? [...what, emptyContent] : [diskHolds(d), ...what])
    .filter(Boolean)
    .join(', ')
}

/** Column headings of selected servers on wide screens. */
export const rowHeads = ['Role', 'Workload interface', 'Install disk', 'Workload disks', 'Patch']

/**
 * A control with its column heading, which is visible on narrow screens only and hidden from screen
 * readers: the control has its own accessible name.
 */
function Cell({
  head,
  className,
  children,
}: {
  head: string
  className: 'link' | 'disk' | 'work'
  children: ReactNode
}) {
  return (
    <div className={css[className]}>
      <span className={css['cap']} aria-hidden="true">
        {head}
      </span>
      {children}
    </div>
  )
}

interface ChosenRowProps {
  server: Server
  chosen: Chosen
  /** The server's patches that users have written; undefined until loaded, null if that failed. */
  patches: readonly Patch[] | null | undefined
  /** Why the server can no longer join the cluster. */
  lost: Verdict | undefined
  onSet: (patch: Partial<Chosen>) => void
  onLeave: () => void
}

/** A selected server: role, interface, disks and patch. */
export function ChosenRow({ server: s, chosen, patches, lost, onSet, onLeave }: ChosenRowProps) {
  const size = (bytes: number | undefined) => (bytes === undefined ? '' : disk(bytes))
  const disks = s.resources.disks
  const offered = disksBeside(disks, chosen.installDisk)
  const extra = disks.filter((d) => chosen.workloadDisks.includes(d.id))
  return (
    <div
      className={`${css['row']} ${css['chosen']}`}
      role="group"
      aria-label={s.name}
      data-server={s.id}
    >
      <Checkbox
        checked
        label={
          <span className={css['who']} title={`${s.name}: ${hardwareLine(s)}`}>
            <b>{s.name}</b> <span className="t3">{sizeLine(s)}</span>
          </span>
        }
        onChange={onLeave}
      />
      <div className={css['role']}>
        <Segmented
          label={`Role of ${s.name}`}
          value={chosen.role}
          options={[
            { value: 'control_plane', text: 'Control plane' },
            { value: 'worker', text: 'Worker' },
          ]}
          onChange={(role) => onSet({ role, roleSet: true })}
        />
      </div>
      <Cell head="Workload interface" className="link">
        <Select
          size="small"
          aria-label={`Workload interface of ${s.name}`}
          value={chosen.link === '' ? 'auto' : chosen.link}
          options={[
            { value: 'auto', text: 'Management' },
            ...s.resources.interfaces.map((i) => ({
              value: i.id,
              text: i.id,
              ...(i.link_state === true
                ? i.product !== undefined && { more: i.product }
                : { more: 'no link', disabled: true }),
            })),
          ]}
          onValue={(link) => onSet({ link: link === 'auto' ? '' : link })}
        />
      </Cell>
      <Cell head="Install disk" className="disk">
        <Select
          size="small"
          aria-label={`Install disk of ${s.name}`}
          value={chosen.installDisk}
          placeholder="Install disk"
          options={installDisks(s).map((d) => ({ value: d.id, text: d.id, more: diskLine(d) }))}
          onValue={(installDisk) => onSet(onDisk(installDisk, chosen))}
        />
      </Cell>
      <Cell head="Workload disks" className="work">
        <Menu
          label={`Workload disks of ${s.name}`}
          align="start"
          trigger={
            <Button size="small" iconAfter="chevron-down">
              {workloadText(extra)}
              <span className="sr">, workload disks of {s.name}</span>
            </Button>
          }
          items={disks
            .filter((d) => offered.includes(d) || chosen.workloadDisks.includes(d.id))
            .map((d) => ({
              label: `${d.id} ${size(d.size)}`,
              note: [diskHolds(d), d.model].filter(Boolean).join(', '),
              checked: chosen.workloadDisks.includes(d.id),
              stay: true,
              run: () =>
                onSet({
                  workloadDisks: chosen.workloadDisks.includes(d.id)
                    ? chosen.workloadDisks.filter((x) => x !== d.id)
                    : [...chosen.workloadDisks, d.id],
                }),
            }))}
        />
      </Cell>
      <span className={css['patch']}>
        {lost && !lost.ok ? (
          <StatusDot tone="danger">{lost.reason}</StatusDot>
        ) : patches === undefined ? null : patches === null ? (
          <span className="t3">Unknown</span>
        ) : chosen.patch !== undefined ? (
          <span
            title={`Created with the cluster: ${[...patches, chosen.patch].map((p) => p.name).join(', ')}`}
          >
            {chosen.patch.name}{' '}
            <span className="t3">
              {patches.length === 0 ? 'new' : `new, and ${patches.length} more`}
            </span>
          </span>
        ) : patches.length === 0 ? (
          <StatusDot
            tone="warn"
            why={
              <a href={paths.createPatch(s.id)} aria-label={`Create a patch for ${s.name}`}>
                Create
              </a>
            }
          >
            None
          </StatusDot>
        ) : (
          <a href={paths.server(s.id, 'patches')}>{patches.map((p) => p.name).join(', ')}</a>
        )}
      </span>
    </div>
  )
}
