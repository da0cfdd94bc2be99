/**
 * Clusters: servers that form one Kubernetes. A cluster is created by a single call and a single
 * operation.
 */
import * as z from 'zod/mini'
import { LeftOut } from '../bounds/rows.ts'
import { codeText, nameText, personText, reasonText, wordText } from '../bounds/fields.ts'
import { cidr } from './network-rules.ts'
import { shownOfCluster } from '../findings/findings.ts'
import { clusterFindingTitles } from '../findings/kinds.ts'
import { EndingCertificate } from './ending-certificates.ts'
import { endpointText } from './endpoint.ts'
import { newCluster } from './example.ts'
import { KeptObject } from './existing.ts'
import { FirstSettings } from './first-settings.ts'
import { ConfirmedDisks, devicePath } from '../disks/disks.ts'
import { ConfirmedLoss, ServerLoss } from '../servers/losses.ts'
import { MaintenanceWindow } from './changes/window.ts'
import { withPast } from '../history/past.ts'
import { labelFilter, ShownLabels } from '../labels/filter.ts'
import { nameOf } from '../names.ts'
import { list } from '../list.ts'
import { callsOf } from '../object-calls.ts'
import { operation, type Words } from '../operation.ts'
import { begun, Operation } from '../operations.ts'
import { NewPatch } from '../patches.ts'
import { changed, time, wholeIn } from '../page.ts'
import { kubernetesVersionText, talosVersionText } from '../versions.ts'

export * from './control-planes.ts'
export * from './endpoint.ts'

export const clusterStatuses = [
  'pending',
  'configuring',
  'installing',
  'bootstrapping',
  'ready',
  'degraded',
  'failed',
  'deleting',
] as const
export type ClusterStatus = (typeof clusterStatuses)[number]
const clusterRoles = ['control_plane', 'worker'] as const
export const ClusterRole = z.enum(clusterRoles)
export type ClusterRole = (typeof clusterRoles)[number]

export const defaultPodCidr = '10.244.0.0/16'
export const defaultServiceCidr = '10.96.0.0/12'

/** Formats of a cluster's blockchain address and of its offer id. The console shows no other. */
export const addressPattern = /^0x[0-9a-fA-F]{40}$/
export const offerIdPattern = /^0x[0-9a-f]{64}$/

const Member = z.object({
  node_id: z.uuid(),
  name: z.string(),
  role: ClusterRole,
  /** The choices at the creation. null: the default link; a former server has no choices. */
  interface: z.optional(z.nullable(z.string())),
  install_disk: z.optional(z.string()),
  workload_disks: z.optional(z.array(z.string())),
})

export const Cluster = z.object({
  id: z.uuid(),
  name: codeText,
  status: z.enum(clusterStatuses),
  /** What the cluster is waiting for, or why it failed. */
  reason: z.nullable(reasonText),
  /**
   * Actions that fail. `node_id`: the server concerned. `retried`: Steelyard tries again by itself;
   * otherwise a user has to act.
   */
  troubles: z.array(
    z.object({
      node_id: z.nullable(z.uuid()),
      message: z.string(),
      retried: z.optional(z.boolean()),
    }),
  ),
  ...shownOfCluster,
  /** The certificates that should be renewed by now, as last read from its servers. */
  certificates_ending: z.optional(z.array(EndingCertificate)),
  datacenter: z.object({ id: z.uuid(), code: codeText, country_code: codeText }),
  talos_version: codeText,
  kubernetes_version: codeText,
  /** URL of the Kubernetes API. */
  endpoint: nameText,
  /** Whether the endpoint is a virtual IP address held by the control planes. */
  virtual_ip: z.boolean(),
  vlan_id: z.nullable(z.int()),
  pod_cidr: codeText,
  service_cidr: codeText,
  servers: z.array(Member),
  /**
   * Servers that were replaced, reset or removed, or are leaving. Earlier operations refer to them.
   */
  former_servers: z.array(Member),
  control_planes: z.int(),
  workers: z.int(),
  subnets: z.array(z.object({ id: z.uuid(), name: codeText, cidr: z.string() })),
  /**
   * The address of the key that Steelyard made for the cluster; null if the cluster's own key was
   * kept.
   */
  chainAddress: z.nullable(codeText),
  offerId: z.nullable(wordText),
  offer_detection: z.enum(['looking', 'found', 'not_found']),
  /** Since when Steelyard looks for the cluster's offer; null unless it is looking. */
  offer_looking_since: z.nullable(time),
  /** Whether the access address of the offer is the address of the cluster. */
  offer_address_set: z.boolean(),
  operation_id: z.nullable(z.uuid()),
  /** Labels, by key. */
  labels: z.optional(ShownLabels),
  /** Text for people; empty if there is none. */
  notes: z.optional(z.string()),
  /** Weekly times in which scheduled changes run; null if none are set. */
  maintenance_window: z.optional(z.nullable(MaintenanceWindow)),
  /**
   * Whether a server answers on the secured Talos API. The talosconfig then works, even if the
   * cluster's creation hangs.
   */
  talos_answers: z.boolean(),
  /**
   * Set if the cluster's machines or its Kubernetes API refuse Steelyard because somebody else
   * changed a certificate authority; see `clusterSecretsImport`.
   */
  locked_out: z.optional(
    z.nullable(z.object({ authority: z.enum(['talos_ca', 'kubernetes_ca']), since: time })),
  ),
  /**
   * The set of files of `steelyard apply` that alone changes the cluster, who said so, and since
   * when; null if everybody may change it.
   */
  files: z.optional(
    z.nullable(z.object({ set: codeText, by: z.nullable(personText), since: time })),
  ),
  /** Time of the takeover; null if Steelyard created the cluster. */
  taken_over_at: z.optional(z.nullable(time)),
  /**
   * Objects that were in its Kubernetes before the takeover, in the place of those of Steelyard,
   * and that were kept.
   */
  kept: z.optional(z.array(KeptObject)),
  /** Only in a list: names of the fields that it has left out (`bounds/rows.ts`). */
  left_out: LeftOut,
  ...changed,
})
export type Cluster = z.infer<typeof Cluster>

/** A disk by id or path. Parses to the path. */
const diskOf = (example: string) =>
  z
    .string()
    .check(
      z.trim(),
      z.regex(
        /^(?:\/dev\/)?[a-zA-Z0-9][a-zA-Z0-9/_.:-]{0,119}$/,
        `A disk is given by its id or its device path, such as ${example} or /dev/${example}`,
      ),
      z.overwrite(devicePath),
    )

export const ClusterServer = z.strictObject({
  node_id: z.uuid(),
  role: ClusterRole,
  /** Network link for the workload. Default: the link on which Steelyard reaches the server. */
  interface: z.optional(z.string().check(z.maxLength(64))),
  /**
   * Id or path of one of the server's disks. Default: the smallest fixed disk that is large enough,
   * empty disks first.
   */
  install_disk: z.optional(diskOf('nvme0n1')),
  workload_disks: z._default(z.array(diskOf('nvme1n1')).check(z.maxLength(64)), []),
  patch: z.optional(NewPatch),
})
export type ClusterServer = z.infer<typeof ClusterServer>

/** The fields that a form checks while they are typed. */
export const ClusterFields = z.strictObject({
  name: nameOf('Cluster'),
  datacenter_id: z.uuid(),
  talos_version: z.optional(talosVersionText()),
  kubernetes_version: z.optional(kubernetesVersionText),
  /**
   * Address or DNS name of the Kubernetes API, or `https://host:6443`. Default: the first control
   * plane's address, which is lost with that server.
   */
  endpoint: z.optional(endpointText),
  /**
   * True: the endpoint is an unused address in the servers' network, held by the control planes.
   */
  virtual_ip: z._default(z.boolean(), false),
  vlan_id: z.optional(z.nullable(wholeIn(1, 4094, 'VLAN ID must be between 1 and 4094'))),
  pod_cidr: z._default(cidr('Pod CIDR'), defaultPodCidr),
  service_cidr: z._default(cidr('Service CIDR'), defaultServiceCidr),
  servers: z
    .array(ClusterServer)
    .check(z.minLength(1, 'Choose at least one server'), z.maxLength(500)),
  /** Chosen disks that have content or are removable, which the user agreed to wipe. */
  confirmed_disks: ConfirmedDisks,
  confirmed_loss: ConfirmedLoss,
})
export const NewCluster = z.strictObject({ ...ClusterFields.shape, ...FirstSettings.shape })
export type NewCluster = z.infer<typeof NewCluster>
export type NewClusterInput = z.input<typeof NewCluster>

export const Check = z.object({
  check: z.string(),
  ok: z.boolean(),
  message: z.string(),
  /** Of a failed check that may pass later by itself (`rule.ts`): something is silent or busy. */
  for_now: z.optional(z.literal(true)),
})
export type Check = z.infer<typeof Check>

/** What clusters are grouped by, beside labels. */
export const clusterGroupings = [
  'status',
  'finding',
  'datacenter',
  'talos_version',
  'kubernetes_version',
] as const

const clusters = list<Cluster>()({
  nouns: ['cluster', 'clusters'],
  large: {
    troubles: [],
    // `said` has its word and sentence.
    finding: null,
    certificates_ending: [],
    servers_said: [],
    servers: [],
    former_servers: [],
    subnets: [],
    labels: {},
    notes: '',
    kept: [],
  },
  columns: {
    name: { label: 'Name', sort: true, value: (c: Cluster) => c.name },
    datacenter: { label: 'Location', sort: true, value: (c: Cluster) => c.datacenter.code },
    servers: {
      label: 'Servers',
      help: 'Control planes + workers',
      value: (c: Cluster) => `${c.control_planes} + ${c.workers}`,
    },
    kubernetes_version: {
      label: 'Kubernetes',
      sort: true,
      value: (c: Cluster) => c.kubernetes_version,
    },
    talos_version: { label: 'Talos', sort: true, value: (c: Cluster) => c.talos_version },
    wanted: {
      label: 'Wanted',
      help: 'What an upgrade that stopped half way is to reach',
      value: (c: Cluster) => c.upgrade?.sentence ?? null,
    },
    subnets: {
      label: 'IP subnets',
      kind: 'mono',
      value: (c: Cluster) => c.subnets.map((s) => s.cidr).join(', ') || null,
    },
    status: { label: 'Status', sort: true },
    labels: { label: 'Labels', hidden: true },
    created_at: {
      label: 'Created',
      kind: 'time',
      sort: true,
      hidden: true,
      value: (c: Cluster) => c.created_at,
    },
  },
  filters: {
    status: { label: 'Status', help: 'Only clusters with this status', choices: clusterStatuses },
    datacenter: {
      label: 'Datacenter',
      help: 'Only clusters in this datacenter, by code or id',
      placeholder: 'CODE',
    },
    finding: {
      label: 'Finding',
      help: 'Only clusters whose worst finding is of this kind, or that have none',
      choices: { none: 'No finding', ...clusterFindingTitles },
      placeholder: 'KIND',
    },
    talos_version: {
      label: 'Talos',
      help: 'Only clusters with this version of Talos',
      placeholder: 'VERSION',
    },
    kubernetes_version: {
      label: 'Kubernetes',
      help: 'Only clusters with this version of Kubernetes',
      placeholder: 'VERSION',
    },
    label: labelFilter,
  },
  order: 'name',
  groups: clusterGroupings,
})

const calls = callsOf(
  'cluster',
  '/v1/clusters',
  { read: 'clusters:read', write: 'clusters:write' },
  Cluster,
)
export const clusterList = withPast(calls.list(clusters, 'Clusters.'))
export const clusterGet = withPast(calls.get('One cluster.'))
/** Why a server can't join a cluster. */
const joiningErrors = [
  'server_taken',
  'not_eligible',
  'disk_not_confirmed',
  'loss_not_confirmed',
] as const
export const clusterCreate = operation('clusterCreate', 'POST /v1/clusters', 'clusters:write', {
  summary:
    'Create a cluster, all or nothing: the servers and subnets are reserved in the same transaction. Servers with patches also need servers:write, subnets network:write.',
  body: NewCluster,
  answer: z.object({ cluster: Cluster, operation: Operation }),
  errors: [
    'not_found',
    'name_taken',
    ...joiningErrors,
    'subnet_assigned',
    'factory_refused',
    'factory_unreachable',
  ],
})
export const clusterPreview = operation(
  'clusterPreview',
  'POST /v1/clusters/preview',
  'clusters:write',
  {
    summary:
      'What clusterCreate would do: per server the merged configuration with secrets masked, the checks and the plan.',
    body: NewCluster,
    answer: z.object({
      servers: z.array(
        z.object({
          node_id: z.uuid(),
          name: z.string(),
          config: z.string(),
          warnings: z.array(z.string()),
        }),
      ),
      losses: z.array(ServerLoss),
      checks: z.array(Check),
      steps: z.array(
        z.object({ key: z.string(), title: z.string(), node_id: z.nullable(z.uuid()) }),
      ),
    }),
    errors: ['not_found'],
  },
)
export const clusterDelete = operation(
  'clusterDelete',
  'DELETE /v1/clusters/{id}',
  'clusters:write',
  {
    summary:
      'Delete a cluster: its servers are reset to maintenance, workers first; with `force`, Steelyard forgets the servers without resetting them.',
    proof: true,
    query: z.strictObject({ force: z.optional(z.enum(['true', 'false'])) }),
    answer: begun,
    errors: ['operation_running', 'stale', 'held_by_files'],
  },
)
export const clusterServerReplace = operation(
  'clusterServerReplace',
  'POST /v1/clusters/{id}/servers/{node_id}/replace',
  'clusters:write',
  {
    summary:
      'Replace a server that failed while its cluster was created. The body names the new server.',
    body: z.strictObject({
      node_id: z.uuid(),
      confirmed_disks: ConfirmedDisks,
      confirmed_loss: ConfirmedLoss,
    }),
    answer: begun,
    errors: [...joiningErrors, 'transition_refused', 'operation_running', 'held_by_files'],
  },
)
/**
 * Talos loses its log at a restart. Steelyard keeps the last lines of a failed server, and only
 * this call returns them.
 */
export const clusterServerFailure = operation(
  'clusterServerFailure',
  'GET /v1/clusters/{id}/servers/{node_id}/failure',
  'servers:read',
  {
    summary:
      'Why a server of the cluster failed last, with the last log lines of that boot; no lines if the log could not be read.',
    answer: z.object({
      reason: z.nullable(z.string()),
      log: z.nullable(z.object({ at: time, lines: z.array(z.string()) })),
    }),
  },
)
export const clusterKubeconfig = operation(
  'clusterKubeconfig',
  'GET /v1/clusters/{id}/kubeconfig',
  'secrets:read',
  {
    summary: 'A kubeconfig, created for this download and valid for 24 h.',
    proof: true,
    answer: z.string(),
    media: 'application/yaml',
    errors: ['cluster_not_ready'],
  },
)
export const clusterTalosconfig = operation(
  'clusterTalosconfig',
  'GET /v1/clusters/{id}/talosconfig',
  'secrets:read',
  {
    summary: 'A talosconfig, created for this download and valid for 24 h.',
    proof: true,
    answer: z.string(),
    media: 'application/yaml',
    errors: ['cluster_not_ready'],
  },
)

export const ClusterEvent = z.object({
  id: z.string(),
  at: time,
  type: z.string(),
  message: z.string(),
  by: z.nullable(z.string()),
  /** The operation that the event started. */
  operation_id: z.nullable(z.uuid()),
})
export const clusterEvents = operation(
  'clusterEvents',
  'GET /v1/clusters/{id}/events',
  'clusters:read',
  {
    summary: 'What was done to a cluster and by whom, newest first.',
    answer: z.object({ items: z.array(ClusterEvent) }),
  },
)

/** Words for the API documentation. */
export const words: Words = {
  objects: {
    Cluster: [Cluster, 'A Kubernetes cluster and its servers.'],
    ClusterServer: [ClusterServer, 'A server and its role in a cluster that is to be created.'],
    NewCluster: [
      NewCluster,
      'A cluster to create. All fields except name, datacenter and servers have a default.',
    ],
  },
  fields: {
    'clusterDelete.force': 'True: forget the servers without resetting them.',
    install_disk:
      'Device path of the disk for Talos. Default: the smallest fixed disk that is large enough; empty disks are preferred.',
    interface:
      'Link that carries the workload. Default: the link that Steelyard reaches the server on.',
    kubernetes_version:
      'Version of Kubernetes. Default: the newest that the Talos version supports.',
    patch: 'A patch that is created for the server in the same transaction.',
    pod_cidr: 'Network of the pods.',
    'clusterCreate.role': 'Role of the server in the cluster.',
    'clusterPreview.role': 'Role of the server in the cluster.',
    servers: 'The servers and their roles. The number of control planes must be odd and at most 7.',
    service_cidr: 'Network of the services.',
    talos_version: 'Version of Talos. Default: the newest supported version.',
    virtual_ip: 'True: the endpoint is an unused address that the control planes share.',
    'clusterCreate.extensions':
      'Extensions of the image that is installed on every server. Default: those of the image that the server runs.',
    'clusterPreview.extensions':
      'Extensions of the image that is installed on every server. Default: those of the image that the server runs.',
    'clusterCreate.kernel_args':
      'Kernel arguments of the image that is installed on every server. Default: those of the image that the server runs.',
    'clusterPreview.kernel_args':
      'Kernel arguments of the image that is installed on every server. Default: those of the image that the server runs.',
    'clusterCreate.subnet_ids':
      'Ids of free workload subnets. They are reserved at once, and reach the load balancer once the cluster is ready.',
    'clusterPreview.subnet_ids':
      'Ids of free workload subnets. They are reserved at once, and reach the load balancer once the cluster is ready.',
    vlan_id: 'VLAN of the servers’ links; null for none.',
    workload_disks: 'Device paths of the disks that are reserved for the workload.',
  },
  bodies: {
    clusterCreate: newCluster,
    clusterPreview: newCluster,
    clusterServerReplace: { node_id: '00000000-0000-4000-8000-000000000005' },
  },
}
