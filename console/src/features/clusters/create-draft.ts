/** What is chosen in the three steps of creating a cluster, what of it is wrong, and what is sent. */
import * as z from 'zod/mini'
import { overlap, parseCidr } from '#contract/addresses.ts'
import { capacityOf, computeUnits } from '#contract/capacity.ts'
import {
  canHaveControlPlanes,
  type ClusterRole,
  controlPlaneWarning,
  defaultPodCidr,
  defaultServiceCidr,
  leastDiskBytes,
  NewCluster,
  type NewClusterAsked,
} from '#contract/clusters.ts'
import { nameSentences } from '#contract/names.ts'
import { all, no, type Verdict, yes } from '#contract/rule.ts'
import { canJoinCluster, canKeepInstalled, type Server } from '#contract/servers.ts'
import { disk } from '../../lib/units.ts'

export interface Chosen {
  role: ClusterRole
  /** '' leaves it to Steelyard: the link on which it reaches the server. */
  link: string
  /** Names of disks without /dev. */
  installDisk: string
  workloadDisks: string[]
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

const chosen = z.object({ role: z.enum(['control_plane', 'worker']), link: z.string(), installDisk: z.string(), workloadDisks: z.array(z.string()) })
const shape = z.object({
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

/** A draft that an older page kept may have another shape: it is then left. */
export function readKept(value: unknown): Draft | null {
  const read = z.safeParse(shape, value)
  return read.success ? read.data : null
}

type Disk = Server['resources']['disks'][number]

const device = (name: string) => `/dev/${name}`

type Machine = Pick<Server, 'resources'> & { talos: Pick<Server['talos'], 'installed'> }

/** Disks that Talos can be installed on, smallest first: the first is the default, as the server would choose. Where Talos is installed it stays. */
export const installDisks = ({ resources, talos: { installed } }: Machine): Disk[] =>
  installed !== null
    ? resources.disks.filter((d) => device(d.id) === installed.disk)
    : resources.disks.filter((d) => (d.size ?? 0) >= leastDiskBytes).toSorted((a, b) => (a.size ?? 0) - (b.size ?? 0) || (a.id < b.id ? -1 : 1))

/** Whether a server may join a cluster of this Talos version, and as it was chosen, where it was. */
export const canTake = (s: Server, talosVersion: string, chosen?: Chosen): Verdict =>
  all(canJoinCluster(s, talosVersion), chosen ? canKeepInstalled(s.talos.installed, talosVersion, device(chosen.installDisk)) : yes)

/** "4 × 7.68 TB"; where they differ, how many and what they hold together. */
export function workloadText(disks: readonly { size?: number | undefined }[]): string {
  const [first] = disks
  if (first === undefined) return 'No workload disk'
  if (first.size === undefined || disks.some((d) => d.size === undefined)) return `${disks.length} disk${disks.length === 1 ? '' : 's'}`
  if (disks.every((d) => d.size === first.size)) return `${disks.length} × ${disk(first.size)}`
  return `${disks.length} disks, ${disk(disks.reduce((sum, d) => sum + (d.size ?? 0), 0))}`
}

/** How a server is taken when it is chosen: the first three are control planes, its other disks are for the workload. */
function firstChoice(s: Machine, others: readonly Chosen[]): Chosen {
  const installDisk = installDisks(s)[0]?.id ?? ''
  return {
    role: others.filter((o) => o.role === 'control_plane').length < 3 ? 'control_plane' : 'worker',
    link: '',
    installDisk,
    workloadDisks: s.resources.disks.filter((d) => d.id !== installDisk).map((d) => d.id),
  }
}

/** The choice with these servers taken as well; what was chosen before stays as it is. */
export function taking(servers: readonly (Machine & Pick<Server, 'id'>)[], chosen: Draft['servers'] = {}): Draft['servers'] {
  const taken = { ...chosen }
  for (const s of servers) taken[s.id] ??= firstChoice(s, Object.values(taken))
  return taken
}

/** The body of clusterCreate and clusterPreview. */
export function bodyOf(draft: Draft): NewClusterAsked {
  return {
    name: draft.name,
    datacenter_id: draft.datacenterId,
    ...(draft.talos !== '' && { talos_version: draft.talos }),
    ...(draft.kubernetes !== '' && { kubernetes_version: draft.kubernetes }),
    ...(draft.endpointKind !== 'first' && { endpoint: draft.endpoint, virtual_ip: draft.endpointKind === 'virtual' }),
    ...(draft.vlan !== '' && { vlan_id: Number(draft.vlan) }),
    pod_cidr: draft.podCidr,
    service_cidr: draft.serviceCidr,
    servers: Object.entries(draft.servers).map(([node_id, c]) => ({
      node_id,
      role: c.role,
      ...(c.link !== '' && { interface: c.link }),
      ...(c.installDisk !== '' && { install_disk: device(c.installDisk) }),
      workload_disks: c.workloadDisks.map(device),
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

/** What is wrong in the first step, by the contract's own schema. `taken` are the names of the clusters that are there. */
export function clusterProblems(draft: Draft, taken: readonly string[]): Problems {
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
