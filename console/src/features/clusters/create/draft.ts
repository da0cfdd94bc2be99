/** The draft of a new cluster: its values, their validation, the request body and the command. */
import * as z from 'zod/mini'
import { overlap, parseCidr } from '#contract/network/addresses.ts'
import {
  canHaveControlPlanes,
  defaultPodCidr,
  defaultServiceCidr,
  ClusterFields,
  type NewClusterInput,
} from '#contract/clusters/clusters.ts'
import { devicePath } from '#contract/disks/disks.ts'
import { familyProblem } from '#contract/clusters/network-rules.ts'
import { nameSentences } from '#contract/names.ts'
import { NewPatch } from '#contract/patches.ts'
import { no, type Verdict, yes } from '#contract/rule.ts'
import { canRunKubernetes, type OfferedTalos } from '#contract/versions.ts'

/** A chosen server. */
const Chosen = z.object({
  role: z.enum(['control_plane', 'worker']),
  /** The user set the role, so proposals don't change it. */
  roleSet: z._default(z.boolean(), false),
  /** '' is the default: the link on which Steelyard reaches the server. */
  link: z.string(),
  /** Disk names without `/dev/`. */
  installDisk: z.string(),
  workloadDisks: z.array(z.string()),
  /** A new patch, created with the cluster in addition to the server's existing patches. */
  patch: z.optional(NewPatch),
  /** Why the server and its disk were chosen by need. */
  why: z.optional(z.array(z.string())),
})
export type Chosen = z.infer<typeof Chosen>

/** Schema of the draft as it is stored in the browser. */
export const KeptDraft = z.object({
  name: z.string(),
  datacenterId: z.string(),
  talos: z.string(),
  kubernetes: z.string(),
  vlan: z.string(),
  endpointKind: z.enum(['first', 'virtual', 'host']),
  endpoint: z.string(),
  podCidr: z.string(),
  serviceCidr: z.string(),
  servers: z.record(z.string(), Chosen),
  /** Id of the template or cluster from which the form was filled; '' if from neither. */
  from: z._default(z.string(), ''),
  /** Parts of the template that the cluster does not take over. */
  leftOut: z._default(z.array(z.string()), []),
})
export type Draft = z.infer<typeof KeptDraft>

/** Fields of the body that come from a template. */
export interface Taken {
  readonly body: Partial<NewClusterInput>
  /** Whether the cluster can have all of them. */
  readonly can: Verdict
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
  from: '',
  leftOut: [],
}

/**
 * The body of clusterCreate and clusterPreview. `confirmed`: disks with content that may be wiped.
 */
export function bodyOf(draft: Draft): NewClusterInput {
  return {
    name: draft.name,
    datacenter_id: draft.datacenterId,
    ...(draft.talos !== '' && { talos_version: draft.talos }),
    ...(draft.kubernetes !== '' && { kubernetes_version: draft.kubernetes }),
    ...(draft.endpointKind !== 'first' && {
      endpoint: draft.endpoint,
      virtual_ip: draft.endpointKind === 'virtual',
    }),
    ...(draft.vlan !== '' && { vlan_id: Number(draft.vlan) }),
    pod_cidr: draft.podCidr,
    service_cidr: draft.serviceCidr,
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

/** For each field of the request body, the form field that shows its errors. */
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

/** Maps the server's field errors to form fields. */
export function problemsOf(fields: Readonly<Record<string, string>>): Problems {
  const problems: Problems = {}
  for (const [path, sentence] of Object.entries(fields)) {
    const field = fieldOf[path.split(/[.[]/)[0]!]
    if (field) problems[field] ??= sentence
  }
  return problems
}

const placeholder = {
  node_id: '00000000-0000-4000-8000-000000000000',
  role: 'control_plane',
} as const

/**
 * Validates the first step with the contract's schema. `taken`: names of existing clusters.
 * `versions`: offered versions.
 */
export function clusterProblems(
  draft: Draft,
  taken: readonly string[],
  versions: readonly OfferedTalos[] = [],
): Problems {
  const problems: Problems = {}
  const read = z.safeParse(ClusterFields, { ...bodyOf(draft), servers: [placeholder] })
  if (!read.success) {
    for (const issue of read.error.issues) {
      const field = fieldOf[String(issue.path[0])]
      if (field) problems[field] ??= issue.message
    }
  }
  if (draft.datacenterId === '') problems.datacenterId = 'Choose a datacenter'
  else delete problems.datacenterId
  const talos = versions.find((v) => v.talos_version === draft.talos) ?? versions[0]
  const runs =
    talos === undefined || draft.kubernetes === '' ? yes : canRunKubernetes(talos, draft.kubernetes)
  if (!runs.ok) problems.kubernetes = runs.reason
  if (taken.includes(draft.name)) problems.name ??= nameSentences('Cluster').taken
  if (draft.vlan !== '' && !/^\d+$/.test(draft.vlan))
    problems.vlan = 'VLAN ID must be between 1 and 4094'
  const [pods, services] = [parseCidr(draft.podCidr), parseCidr(draft.serviceCidr)]
  if (pods && services && overlap(pods, services))
    problems.serviceCidr ??= `Service CIDR overlaps the pod CIDR ${draft.podCidr}`
  const family = pods && services && familyProblem(pods, services)
  if (family) problems.serviceCidr ??= family
  return problems
}

/** Whether the selected servers can form a cluster. */
export function canReview(draft: Draft): Verdict {
  const taken = Object.values(draft.servers)
  if (taken.length === 0) return no('Choose at least one server')
  const verdict = canHaveControlPlanes(taken.filter((c) => c.role === 'control_plane').length)
  if (!verdict.ok) return verdict
  return taken.some((c) => c.installDisk === '')
    ? no('Choose an install disk for every server')
    : yes
}
