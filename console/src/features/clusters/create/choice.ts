/**
 * The servers of a new cluster: which servers can be chosen, their roles and disks, and the sums of
 * their hardware.
 */
import { leastMemoryBytes } from '#contract/clusters/rules.ts'
import { unitsOf } from '#contract/capacity.ts'
import { controlPlaneWarning } from '#contract/clusters/clusters.ts'
import { defaultInstallDisk, defaultWorkloadDisks, installable } from '#contract/disks/choice.ts'
import { disksBeside, devicePath } from '#contract/disks/disks.ts'
import { sharedRackWarnings, spreadOverRacks } from '#contract/racks/spread.ts'
import { findingKinds } from '#contract/findings/kinds.ts'
import { all, type Verdict, yes } from '#contract/rule.ts'
import { canJoinCluster, canKeepInstalled, type Server } from '#contract/servers/servers.ts'
import { disk } from '../../../lib/units.ts'
import type { Chosen, Draft } from './draft.ts'

type Disk = Server['resources']['disks'][number]

type Machine = Pick<Server, 'resources'> & { talos: Pick<Server['talos'], 'installed'> }

/**
 * Disks on which Talos can be installed, the default first. If Talos is installed already, only the
 * disk that contains Talos.
 */
export const installDisks = ({ resources, talos: { installed } }: Machine): Disk[] =>
  installed !== null
    ? resources.disks.filter((d) => devicePath(d.id) === installed.disk)
    : installable(resources.disks)

/** The disk with an installed Talos, or the default install disk. Never removable. */
export const firstDisk = (s: Machine): Disk | undefined =>
  s.talos.installed === null
    ? (defaultInstallDisk(s.resources.disks) ?? undefined)
    : installDisks(s)[0]

/**
 * Whether a server may join a cluster with this Talos version and, if the server is selected, with
 * the user's choices for it.
 */
export const canTake = (s: Server, talosVersion: string, chosen?: Chosen): Verdict =>
  all(
    canJoinCluster(s, talosVersion),
    chosen
      ? canKeepInstalled(s.talos.installed, talosVersion, devicePath(chosen.installDisk))
      : yes,
  )

/** "Install failed: 5 installations failed here: input/output error."; null if nothing is wrong. */
export const findingSaid = ({ finding }: Pick<Server, 'finding'>): string | null =>
  finding ? `${findingKinds[finding.kind].word}: ${finding.reason}` : null

/** Servers with a finding come last, so that they are not what is chosen first. */
export const troubledLast = <T extends Pick<Server, 'finding'>>(servers: readonly T[]): T[] =>
  servers.toSorted((a, b) => Number(!!a.finding) - Number(!!b.finding))

/** "None", "4 × 7.68 TB", or number and total size if the disks differ. */
export function workloadText(disks: readonly { size?: number | undefined }[]): string {
  const [first] = disks
  if (first === undefined) return 'None'
  if (first.size === undefined || disks.some((d) => d.size === undefined))
    return `${disks.length} disk${disks.length === 1 ? '' : 's'}`
  if (disks.every((d) => d.size === first.size)) return `${disks.length} × ${disk(first.size)}`
  return `${disks.length} disks, ${disk(disks.reduce((sum, d) => sum + (d.size ?? 0), 0))}`
}

/**
 * Initial choices of a selected server: empty disks other than the install disk are workload disks.
 * `withRoles` proposes the role.
 */
export function firstChoice(s: Machine): Chosen {
  const installDisk = firstDisk(s)?.id ?? ''
  return {
    role: 'worker',
    roleSet: false,
    link: '',
    installDisk,
    workloadDisks: defaultWorkloadDisks(disksBeside(s.resources.disks, installDisk)).map(
      (d) => d.id,
    ),
  }
}

type Known = Machine &
  Pick<Server, 'id' | 'name' | 'placement'> & {
    hardware: Pick<Server['hardware'], 'cores' | 'memory_bytes'>
  }

/**
 * Three control planes if there are at least three servers, so that etcd survives the loss of one
 * of them; otherwise one control plane.
 */
const proposedControlPlanes = (servers: number): number => (servers >= 3 ? 3 : Math.min(1, servers))

const isTooSmall = ({ hardware: { memory_bytes: bytes } }: Known): boolean =>
  bytes !== null && bytes < leastMemoryBytes.control_plane

/**
 * Sorts candidates for control planes: smallest first by compute units, memory and name. Servers
 * that are too small or whose hardware is unknown come last.
 */
export function bySize<T extends Known>(servers: readonly T[]): T[] {
  const sizeOf = (server: Known): readonly [boolean, number, number] => [
    isTooSmall(server),
    unitsOf(server.hardware) ?? Infinity,
    server.hardware.memory_bytes ?? Infinity,
  ]
  return servers
    .map((server) => ({ server, size: sizeOf(server) }))
    .toSorted(
      (a, b) =>
        Number(a.size[0]) - Number(b.size[0]) ||
        compare(a.size[1], b.size[1]) ||
        compare(a.size[2], b.size[2]) ||
        (a.server.name < b.server.name ? -1 : a.server.name > b.server.name ? 1 : 0),
    )
    .map(({ server }) => server)
}
/**
 * Compares two values. Unknown values (Infinity) count as equal: Infinity − Infinity would be NaN.
 */
const compare = (a: number, b: number): number => (a === b ? 0 : a - b)

/**
 * The smallest servers that can be control planes, from as many racks as possible.
 * @param chosen control planes that the user has chosen
 */
function smallest<T extends Known>(servers: readonly T[], count: number, chosen: readonly Known[]) {
  const inOrder = bySize(servers)
  const fit = spreadOverRacks(
    inOrder.filter((s) => !isTooSmall(s)),
    count,
    chosen,
  )
  return [...fit, ...inOrder.filter(isTooSmall)].slice(0, count)
}

/**
 * Proposes roles that the user hasn't set: the smallest servers are control planes, spread over
 * racks, the others workers. `known`: all selectable servers.
 */
export function withRoles(chosen: Draft['servers'], known: readonly Known[]): Draft['servers'] {
  const entries = Object.entries(chosen)
  const open = known.filter((s) => chosen[s.id]?.roleSet === false)
  const isSet = (c: Chosen | undefined) => c?.roleSet === true && c.role === 'control_plane'
  const set = entries.filter(([, c]) => isSet(c)).length
  const missing = Math.max(0, proposedControlPlanes(entries.length) - set)
  const byHand = known.filter((s) => isSet(chosen[s.id]))
  const proposed = new Set(smallest(open, missing, byHand).map((s) => s.id))
  return Object.fromEntries(
    entries.map(([id, c]) => [
      id,
      c.roleSet ? c : { ...c, role: proposed.has(id) ? 'control_plane' : 'worker' },
    ]),
  )
}

/** Adds servers to the selection. Earlier choices stay. `known`: all selectable servers. */
export function taking(
  servers: readonly Known[],
  chosen: Draft['servers'] = {},
  known: readonly Known[] = servers,
): Draft['servers'] {
  const taken = { ...chosen }
  for (const s of servers) taken[s.id] ??= firstChoice(s)
  return withRoles(taken, known)
}

/** Removes a server from the selection. */
export const leaving = (
  id: string,
  chosen: Draft['servers'],
  known: readonly Known[],
): Draft['servers'] =>
  withRoles(Object.fromEntries(Object.entries(chosen).filter(([key]) => key !== id)), known)

/**
 * A first proposal of five servers: the three smallest servers that could be control planes, from
 * as many racks as possible, and the first two of the other servers.
 */
export function firstFive<T extends Known>(eligible: readonly T[]): T[] {
  const small = smallest(eligible, proposedControlPlanes(eligible.length), [])
  return [...small, ...eligible.filter((s) => !small.includes(s)).slice(0, 2)]
}

/**
 * A sentence that names the proposed control planes. Null if no control plane is a proposal, or all
 * selected servers are control planes.
 */
export function proposalText(chosen: Draft['servers'], known: readonly Known[]): string | null {
  const servers = known.filter(
    (s) => chosen[s.id]?.roleSet === false && chosen[s.id]?.role === 'control_plane',
  )
  const proposed = servers.map((s) => s.name)
  const racks = new Set(servers.flatMap(({ placement }) => placement?.rack.id ?? []))
  if (proposed.length === 0 || Object.values(chosen).every((c) => c.role === 'control_plane'))
    return null
  const what = proposed.length === 1 ? 'Proposed as control plane' : 'Proposed as control planes'
  return `${what}: ${proposed.join(', ')} (the smallest of the chosen servers by compute units, then memory${racks.size > 1 ? ', spread over racks' : ''}). You can change any role.`
}

/** Sums of the selected servers; null if a value is unknown for one of them. */
export function sumOf(draft: Draft, servers: readonly Server[]) {
  const mine = servers.filter((s) => draft.servers[s.id])
  const add = (values: readonly (number | null)[]) =>
    values.reduce<number | null>((sum, v) => (sum === null || v === null ? null : sum + v), 0)
  const roles = Object.values(draft.servers).map((c) => c.role)
  const units = add(mine.map((s) => unitsOf(s.hardware)))
  return {
    servers: roles.length,
    controlPlanes: roles.filter((r) => r === 'control_plane').length,
    workers: roles.filter((r) => r === 'worker').length,
    units,
    // A compute unit is sold as two vCPUs.
    vcpu: units === null ? null : 2 * units,
    memoryBytes: add(mine.map((s) => s.hardware.memory_bytes)),
    workloadBytes: mine.reduce(
      (sum, s) =>
        sum +
        s.resources.disks
          .filter((d) => draft.servers[s.id]!.workloadDisks.includes(d.id))
          .reduce((n, d) => n + (d.size ?? 0), 0),
      0,
    ),
  }
}

/** Warnings about choices that are allowed but unwise. */
export function warningsOf(
  draft: Draft,
  servers: readonly Pick<Server, 'id' | 'name' | 'placement'>[],
): string[] {
  const { controlPlanes } = sumOf(draft, [])
  const one = controlPlanes > 0 ? controlPlaneWarning(controlPlanes) : null
  return [
    ...(one ? [one] : []),
    ...sharedRackWarnings(servers.filter((s) => draft.servers[s.id]?.role === 'control_plane')),
    ...(draft.endpointKind === 'first' && controlPlanes > 1
      ? [
          "The API endpoint is the first control plane's own address: if that server fails, the API is unreachable. A virtual IP avoids this.",
        ]
      : []),
  ]
}
