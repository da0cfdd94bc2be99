/** What is chosen in the three steps of creating a cluster, what of it is wrong, and what is sent. */
import * as z from 'zod/mini'
import { overlap, parseCidr } from '#contract/network/addresses.ts'
import { capacityOf, computeUnits } from '#contract/capacity.ts'
import {
  canHaveControlPlanes,
  type ClusterRole,
  controlPlaneWarning,
  defaultPodCidr,
  defaultServiceCidr,
  leastMemoryBytes,
  NewCluster,
  type NewClusterAsked,
} from '#contract/clusters/clusters.ts'
import {
  type ChosenDisks,
  type ConfirmedDisk,
  defaultInstallDisk,
  defaultWorkloadDisks,
  devicePath,
  type DiskToConfirm,
  disksToConfirm,
  installable,
} from '#contract/servers/disks.ts'
import { nameSentences } from '#contract/names.ts'
import { NewPatch } from '#contract/patches.ts'
import { all, no, type Verdict, yes } from '#contract/rule.ts'
import { canJoinCluster, canKeepInstalled, type Server } from '#contract/servers/servers.ts'
import { canRunKubernetes, type OfferedTalos } from '#contract/versions.ts'
import { disk } from '../../lib/units.ts'

export interface Chosen {
  role: ClusterRole
  /** A person set the role: proposals leave it. */
  roleSet: boolean
  /** '' leaves it to Steelyard: the link on which it reaches the server. */
  link: string
  /** Names of disks without /dev. */
  installDisk: string
  workloadDisks: string[]
  /** Made with the cluster, beside the patches that the server has. */
  patch?: NewPatch | undefined
}

export interface Draft {
  name: string
  datacenterId: string
  talos: string
  kubernetes: string
  vlan: string
  endpointKind: 'first' | 'virtual' | 'host'
  endpoint: string
  podCidr: string
  serviceCidr: string
  servers: Record<string, Chosen>
}

export const blank: Draft = {
  name: '',
  datacenterId: '',
  talos: '',
  kubernetes: '',
  vlan: '',
  endpointKind: 'first',
  endpoint: '',
  podCidr: defaultPodCidr,
  serviceCidr: defaultServiceCidr,
  servers: {},
}

const chosen = z.object({
  role: z.enum(['control_plane', 'worker']),
  roleSet: z._default(z.boolean(), false),
  link: z.string(),
  installDisk: z.string(),
  workloadDisks: z.array(z.string()),
  patch: z.optional(NewPatch),
})
/** What a kept draft has to be. */
export const KeptDraft: z.core.$ZodType<Draft> = z.object({
  name: z.string(),
  datacenterId: z.string(),
  talos: z.string(),
  kubernetes: z.string(),
  vlan: z.string(),
  endpointKind: z.enum(['first', 'virtual', 'host']),
  endpoint: z.string(),
  podCidr: z.string(),
  serviceCidr: z.string(),
  servers: z.record(z.string(), chosen),
})

type Disk = Server['resources']['disks'][number]

type Machine = Pick<Server, 'resources'> & { talos: Pick<Server['talos'], 'installed'> }

/** Disks that Talos can be installed on, the default first. Where Talos is installed it stays. */
export const installDisks = ({ resources, talos: { installed } }: Machine): Disk[] =>
  installed !== null ? resources.disks.filter((d) => devicePath(d.id) === installed.disk) : installable(resources.disks)

/** The disk that Talos is on, or would be installed on where nobody chose; none that is removable. */
export const firstDisk = (s: Machine): Disk | undefined =>
  s.talos.installed === null ? (defaultInstallDisk(s.resources.disks) ?? undefined) : installDisks(s)[0]

/** Whether a server may join a cluster of this Talos version, and as it was chosen, where it was. */
export const canTake = (s: Server, talosVersion: string, chosen?: Chosen): Verdict =>
  all(canJoinCluster(s, talosVersion), chosen ? canKeepInstalled(s.talos.installed, talosVersion, devicePath(chosen.installDisk)) : yes)

/** "None", "4 × 7.68 TB"; where they differ, how many and what they hold together. */
export function workloadText(disks: readonly { size?: number | undefined }[]): string {
  const [first] = disks
  if (first === undefined) return 'None'
  if (first.size === undefined || disks.some((d) => d.size === undefined)) return `${disks.length} disk${disks.length === 1 ? '' : 's'}`
  if (disks.every((d) => d.size === first.size)) return `${disks.length} × ${disk(first.size)}`
  return `${disks.length} disks, ${disk(disks.reduce((sum, d) => sum + (d.size ?? 0), 0))}`
}

/** How a server is taken when it is chosen: its other empty disks are for the workload. Its role is proposed with those of the others. */
function firstChoice(s: Machine): Chosen {
  const installDisk = firstDisk(s)?.id ?? ''
  return {
    role: 'worker',
    roleSet: false,
    link: '',
    installDisk,
    workloadDisks: defaultWorkloadDisks(s.resources.disks.filter((d) => d.id !== installDisk)).map((d) => d.id),
  }
}

type Known = Machine & Pick<Server, 'id' | 'name'>

/** Three where there are three servers: etcd then goes on while one of them is down. */
const proposedControlPlanes = (servers: number): number => (servers >= 3 ? 3 : Math.min(1, servers))

/** Servers with the least to lose to a control plane first: by compute units, then memory, then name. Those that are too small for one, or unknown, come last. */
export function bySize<T extends Known>(servers: readonly T[]): T[] {
  const sizeOf = (s: Known): readonly [boolean, number, number] => {
    const bytes = capacityOf(s.resources).memory_bytes
    return [bytes !== null && bytes < leastMemoryBytes.control_plane, computeUnits(s.resources) ?? Infinity, bytes ?? Infinity]
  }
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
/** Two that are unknown are alike: Infinity less Infinity is no number. */
const compare = (a: number, b: number): number => (a === b ? 0 : a - b)

/** The roles that nobody set, proposed: the smallest are control planes, the others workers. `known`: the servers with their hardware. */
export function withRoles(chosen: Draft['servers'], known: readonly Known[]): Draft['servers'] {
  const entries = Object.entries(chosen)
  const open = bySize(known.filter((s) => chosen[s.id]?.roleSet === false))
  const set = entries.filter(([, c]) => c.roleSet && c.role === 'control_plane').length
  const proposed = new Set(open.slice(0, Math.max(0, proposedControlPlanes(entries.length) - set)).map((s) => s.id))
  return Object.fromEntries(entries.map(([id, c]) => [id, c.roleSet ? c : { ...c, role: proposed.has(id) ? 'control_plane' : 'worker' }]))
}

/** The choice with these servers taken as well; what a person chose before stays as it is. `known`: all that may be chosen. */
export function taking(servers: readonly Known[], chosen: Draft['servers'] = {}, known: readonly Known[] = servers): Draft['servers'] {
  const taken = { ...chosen }
  for (const s of servers) taken[s.id] ??= firstChoice(s)
  return withRoles(taken, known)
}

/** The choice without one of its servers. */
export const leaving = (id: string, chosen: Draft['servers'], known: readonly Known[]): Draft['servers'] =>
  withRoles(Object.fromEntries(Object.entries(chosen).filter(([key]) => key !== id)), known)

/** Five to begin with: the three smallest that could be control planes, and the first two of the others. */
export function firstFive<T extends Known>(eligible: readonly T[]): T[] {
  const small = bySize(eligible).slice(0, proposedControlPlanes(eligible.length))
  return [...small, ...eligible.filter((s) => !small.includes(s)).slice(0, 2)]
}

/** Why which servers are control planes, while that is a proposal; null where a person set every role, or all have the same. */
export function proposalText(chosen: Draft['servers'], known: readonly Known[]): string | null {
  const proposed = known.filter((s) => chosen[s.id]?.roleSet === false && chosen[s.id]?.role === 'control_plane').map((s) => s.name)
  if (proposed.length === 0 || Object.values(chosen).every((c) => c.role === 'control_plane')) return null
  const what = proposed.length === 1 ? 'Proposed as control plane' : 'Proposed as control planes'
  return `${what}: ${proposed.join(', ')}, the smallest of the chosen by compute units, then memory. Change any role as you like.`
}

/** The chosen servers' disks, of which some are to be wiped. */
export const chosenDisks = (draft: Draft, servers: readonly (Machine & Pick<Server, 'id' | 'name'>)[]): ChosenDisks[] =>
  servers.flatMap((s) => {
    const how = draft.servers[s.id]
    return how === undefined
      ? []
      : [{ server: s.name, disks: s.resources.disks, devices: [how.installDisk, ...how.workloadDisks].map(devicePath), kept: s.talos.installed?.disk ?? null }]
  })

/** Of one disk as it is now: what is on it has to be confirmed anew once that has changed. */
export const keyOf = ({ server, device, by }: DiskToConfirm): string => JSON.stringify([server, device, by])

/** What was confirmed, of the disks that are chosen now. */
export const confirmedOf = (chosen: readonly ChosenDisks[], ticked: ReadonlySet<string>): ConfirmedDisk[] =>
  disksToConfirm(chosen).flatMap((one) => (one.by !== null && ticked.has(keyOf(one)) ? [one.by] : []))

/** The body of clusterCreate and clusterPreview. `confirmed`: the disks that may be wiped though they hold something. */
export function bodyOf(draft: Draft, confirmed: readonly ConfirmedDisk[] = []): NewClusterAsked {
  return {
    name: draft.name,
    datacenter_id: draft.datacenterId,
    ...(draft.talos !== '' && { talos_version: draft.talos }),
    ...(draft.kubernetes !== '' && { kubernetes_version: draft.kubernetes }),
    ...(draft.endpointKind !== 'first' && { endpoint: draft.endpoint, virtual_ip: draft.endpointKind === 'virtual' }),
    ...(draft.vlan !== '' && { vlan_id: Number(draft.vlan) }),
    pod_cidr: draft.podCidr,
    service_cidr: draft.serviceCidr,
    ...(confirmed.length > 0 && { confirmed_disks: [...confirmed] }),
    servers: Object.entries(draft.servers).map(([node_id, c]) => ({
      node_id,
      role: c.role,
      ...(c.link !== '' && { interface: c.link }),
      ...(c.installDisk !== '' && { install_disk: devicePath(c.installDisk) }),
      workload_disks: c.workloadDisks.map(devicePath),
      ...(c.patch !== undefined && { patch: c.patch }),
    })),
  }
}

/** Field of the form that a path in the body belongs to. */
const fieldOf: Readonly<Record<string, keyof Draft>> = {
  name: 'name',
  datacenter_id: 'datacenterId',
  talos_version: 'talos',
  kubernetes_version: 'kubernetes',
  endpoint: 'endpoint',
  virtual_ip: 'endpoint',
  vlan_id: 'vlan',
  pod_cidr: 'podCidr',
  service_cidr: 'serviceCidr',
  servers: 'servers',
}

export type Problems = Partial<Record<keyof Draft, string>>

/** What the server's refusal says per field, as fields of the form. */
export function problemsOf(fields: Readonly<Record<string, string>>): Problems {
  const problems: Problems = {}
  for (const [path, sentence] of Object.entries(fields)) {
    const field = fieldOf[path.split(/[.[]/)[0]!]
    if (field) problems[field] ??= sentence
  }
  return problems
}

const placeholder = { node_id: '00000000-0000-4000-8000-000000000000', role: 'control_plane' } as const

/** What is wrong in the first step, by the contract's own schema. `taken` are the names of the clusters that are there, `versions` those that are offered. */
export function clusterProblems(draft: Draft, taken: readonly string[], versions: readonly OfferedTalos[] = []): Problems {
  const problems: Problems = {}
  const read = z.safeParse(NewCluster, { ...bodyOf(draft), servers: [placeholder] })
  if (!read.success) {
    for (const issue of read.error.issues) {
      const field = fieldOf[String(issue.path[0])]
      if (field) problems[field] ??= issue.message
    }
  }
  if (draft.datacenterId === '') problems.datacenterId = 'Choose a datacenter'
  else delete problems.datacenterId
  const talos = versions.find((v) => v.talos_version === draft.talos) ?? versions[0]
  const runs = talos === undefined || draft.kubernetes === '' ? yes : canRunKubernetes(talos, draft.kubernetes)
  if (!runs.ok) problems.kubernetes = runs.reason
  if (taken.includes(draft.name)) problems.name ??= nameSentences('Cluster').taken
  if (draft.vlan !== '' && !/^\d+$/.test(draft.vlan)) problems.vlan = 'VLAN ID must be between 1 and 4094'
  const [pods, services] = [parseCidr(draft.podCidr), parseCidr(draft.serviceCidr)]
  if (pods && services && overlap(pods, services)) problems.serviceCidr ??= `Service CIDR overlaps the pod CIDR ${draft.podCidr}`
  return problems
}

/** Whether the choice of servers makes a cluster. */
export function canReview(draft: Draft): Verdict {
  const taken = Object.values(draft.servers)
  if (taken.length === 0) return no('Choose at least one server')
  const verdict = canHaveControlPlanes(taken.filter((c) => c.role === 'control_plane').length)
  if (!verdict.ok) return verdict
  return taken.some((c) => c.installDisk === '') ? no('Choose an install disk for every server') : yes
}

export interface Sum {
  servers: number
  controlPlanes: number
  workers: number
  units: number | null
  vcpu: number | null
  memoryBytes: number | null
  workloadBytes: number
}

/** What the chosen servers add up to; null where one of them has not told. */
export function sumOf(draft: Draft, servers: readonly Server[]): Sum {
  const mine = servers.filter((s) => draft.servers[s.id])
  const add = (values: readonly (number | null)[]) => values.reduce<number | null>((sum, v) => (sum === null || v === null ? null : sum + v), 0)
  const roles = Object.values(draft.servers).map((c) => c.role)
  const units = add(mine.map((s) => computeUnits(s.resources)))
  return {
    servers: roles.length,
    controlPlanes: roles.filter((r) => r === 'control_plane').length,
    workers: roles.filter((r) => r === 'worker').length,
    units,
    // A compute unit is sold as two.
    vcpu: units === null ? null : 2 * units,
    memoryBytes: add(mine.map((s) => capacityOf(s.resources).memory_bytes)),
    workloadBytes: mine.reduce(
      (sum, s) => sum + s.resources.disks.filter((d) => draft.servers[s.id]!.workloadDisks.includes(d.id)).reduce((n, d) => n + (d.size ?? 0), 0),
      0,
    ),
  }
}

/** What is allowed but unwise. */
export function warningsOf(draft: Draft): string[] {
  const { controlPlanes } = sumOf(draft, [])
  const one = controlPlanes > 0 ? controlPlaneWarning(controlPlanes) : null
  return [
    ...(one ? [one] : []),
    ...(draft.endpointKind === 'first' && controlPlanes > 1
      ? ["The API endpoint is the first control plane's own address: it falls with that server. A virtual IP stays."]
      : []),
  ]
}
