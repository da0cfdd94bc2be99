/**
 * Templates: what clusters of one kind have in common. A template never holds a secret, a server, or
 * an address. Servers are chosen by need when a cluster is planned from it (`choose.ts`).
 */
import * as z from 'zod/mini'
import { LeftOut } from '../bounds/rows.ts'
import { personText } from '../bounds/fields.ts'
import { Excerpt } from '../bounds/excerpt.ts'
import type { Limit } from '../rule.ts'
import { NewSnapshotSchedule } from '../clusters/changes/snapshot-schedule.ts'
import { MaintenanceWindow } from '../clusters/changes/window.ts'
import {
  canHaveControlPlanes,
  ClusterRole,
  endpointText,
  NewCluster,
} from '../clusters/clusters.ts'
import { ExtensionNames, KernelArgs } from '../images/customization.ts'
import { AllLabels, Notes } from '../labels/labels.ts'
import { list } from '../list.ts'
import { nameOf } from '../names.ts'
import { callsOf } from '../object-calls.ts'
import { operation, type Words } from '../operation.ts'
import { byId, changed, wholeIn } from '../page.ts'
import { NewPatch } from '../patches.ts'
import { DiskToConfirm } from '../disks/disks.ts'
import { InstallDisk, Needs, WorkloadDisks } from './needs.ts'

const servers = (least: number) => wholeIn(least, 500, `The number of servers is ${least} to 500`)
const controlPlanes = servers(1).check(
  z.refine((n) => canHaveControlPlanes(n).ok, {
    error: ({ input }) => {
      const verdict = canHaveControlPlanes(Number(input))
      return verdict.ok ? '' : verdict.reason
    },
  }),
)

const role = {
  needs: z._default(Needs, { disks: [] }),
  install_disk: z._default(InstallDisk, { prefer: 'smallest' }),
  /** null: no disk is reserved for the workload. */
  workload_disks: z._default(z.nullable(WorkloadDisks), null),
  /** A patch of each server of the role. */
  patch: z.optional(NewPatch),
}
const anyServers = <N extends number>(count: N) => ({
  count,
  needs: { disks: [] },
  install_disk: { prefer: 'smallest' as const },
  workload_disks: null,
})

/** A workload subnet of the datacenter that no cluster has. */
const SubnetWish = z.strictObject({
  type: z.optional(z.enum(['IPv4', 'IPv6'])),
  /** Least number of addresses for Services. */
  addresses: z._default(wholeIn(1, 1_000_000, 'The number of addresses is 1 to 1,000,000'), 1),
})

/** The schedule of snapshots, with the name of the store. */
const Snapshots = z.strictObject({
  store: nameOf('Store'),
  ...z.omit(NewSnapshotSchedule, { store_id: true }).shape,
})

export const NewTemplate = z.strictObject({
  name: nameOf('Template'),
  notes: z._default(Notes, ''),
  talos_version: NewCluster.shape.talos_version,
  kubernetes_version: NewCluster.shape.kubernetes_version,
  /**
   * True: a cluster gets a virtual address, which is named when it is made, because no two clusters
   * can share one.
   */
  virtual_ip: NewCluster.shape.virtual_ip,
  vlan_id: z._default(NewCluster.shape.vlan_id.def.innerType, null),
  pod_cidr: NewCluster.shape.pod_cidr,
  service_cidr: NewCluster.shape.service_cidr,
  control_planes: z._default(
    z.strictObject({ count: z._default(controlPlanes, 3), ...role }),
    anyServers(3),
  ),
  workers: z._default(z.strictObject({ count: z._default(servers(0), 0), ...role }), anyServers(0)),
  /** Whether the servers of a cluster come from as many racks as possible. */
  spread_over_racks: z._default(z.boolean(), true),
  subnets: z._default(z.array(SubnetWish).check(z.maxLength(20, 'At most 20 subnets')), []),
  /** Extensions of every server. Left out: those that the servers have. */
  extensions: z.optional(ExtensionNames),
  kernel_args: z.optional(KernelArgs),
  labels: z._default(AllLabels, {}),
  maintenance_window: z._default(z.nullable(MaintenanceWindow), null),
  snapshots: z._default(z.nullable(Snapshots), null),
})
export type NewTemplate = z.infer<typeof NewTemplate>
export type NewTemplateInput = z.input<typeof NewTemplate>

export const Template = z.object({
  id: z.uuid(),
  ...NewTemplate.shape,
  /** Increases with each change. */
  revision: z.int(),
  created_by: personText,
  /** Only in a list: names of the fields that it has left out (`bounds/rows.ts`). */
  left_out: LeftOut,
  ...changed,
})
export type Template = z.infer<typeof Template>

const listedRole = { patch: z.optional(z.extend(NewPatch, { body: Excerpt })) }
/** A template in a list: `templateGet` returns the whole patches. */
export const ListedTemplate = z.extend(Template, {
  control_planes: z.extend(NewTemplate.shape.control_planes.def.innerType, listedRole),
  workers: z.extend(NewTemplate.shape.workers.def.innerType, listedRole),
})
export type ListedTemplate = z.infer<typeof ListedTemplate>

/** The fields of a template that people write. */
export const definitionOf = ({
  id: _id,
  revision: _revision,
  created_by: _by,
  version: _version,
  created_at: _created,
  updated_at: _updated,
  left_out: _leftOut,
  ...definition
}: Template): NewTemplate => definition

/** "3 + 5" */
export const sizeSaid = ({
  control_planes,
  workers,
}: {
  readonly control_planes: { readonly count: number }
  readonly workers: { readonly count: number }
}): string => `${control_planes.count} + ${workers.count}`

const templates = list<ListedTemplate>()({
  nouns: ['template', 'templates'],
  large: { notes: '', extensions: [], kernel_args: [], labels: {} },
  columns: {
    name: { label: 'Name', sort: true, value: (t: ListedTemplate) => t.name },
    servers: { label: 'Servers', help: 'Control planes + workers', value: sizeSaid },
    talos_version: {
      label: 'Talos',
      kind: 'mono',
      sort: true,
      value: (t: ListedTemplate) => t.talos_version ?? 'newest',
    },
    kubernetes_version: {
      label: 'Kubernetes',
      kind: 'mono',
      sort: true,
      value: (t: ListedTemplate) => t.kubernetes_version ?? 'newest',
    },
    updated_at: {
      label: 'Changed',
      kind: 'time',
      sort: true,
      value: (t: ListedTemplate) => t.updated_at,
    },
    created_by: { label: 'By', hidden: true, value: (t: ListedTemplate) => t.created_by },
    id: { label: 'Id', kind: 'mono', hidden: true, value: (t: ListedTemplate) => t.id },
  },
  order: 'name',
  mostPerPage: 50,
})

const calls = callsOf(
  'template',
  '/v1/templates',
  { read: 'clusters:read', write: 'clusters:write' },
  Template,
)
export const templateLimit: Limit = {
  most: 1_000,
  nouns: 'templates',
  remedy: 'remove one that is not used any more',
}

export const templateList = calls.listOf(
  templates,
  ListedTemplate,
  'Templates of clusters. Of their patches the list has the length, the digest and the first 4 KiB.',
)
export const templateGet = calls.get('One template.')
export const templateCreate = calls.create({
  summary: 'Save a template. A patch that holds a secret is refused.',
  body: NewTemplate,
  errors: ['name_taken'],
})
/** The whole template is given. The clusters that were made from it stay as they are. */
export const templateUpdate = operation(
  'templateUpdate',
  'PUT /v1/templates/{id}',
  'clusters:write',
  {
    summary: 'Replace a template. Clusters that were made from it stay as they are.',
    params: byId,
    body: NewTemplate,
    answer: Template,
    errors: ['name_taken', 'stale'],
  },
)
export const templateRemove = calls.remove(
  'Remove a template. Clusters that were made from it stay as they are.',
  ['stale'],
)

export const clusterTemplate = operation(
  'clusterTemplate',
  'GET /v1/clusters/{id}/template',
  'clusters:read',
  {
    summary:
      'The template that a cluster is like, without saving it. Its needs are those that every server of a role meets. Also needs servers:read.',
    answer: z.object({
      template: NewTemplate,
      /** What the cluster has and the template has not, as sentences. */
      left_out: z.array(z.string()),
    }),
  },
)

export const mostPlanned = 50
const Planned = z.strictObject({
  name: nameOf('Cluster'),
  /** Address or DNS name of its Kubernetes API. */
  endpoint: z.optional(endpointText),
})

/** What is to be made from a template. */
export const TemplatePlan = z.strictObject({
  /** Id of a saved template; else `template` is given. */
  template_id: z.optional(z.uuid()),
  template: z.optional(NewTemplate),
  datacenter_id: z.uuid('Choose a datacenter'),
  clusters: z
    .array(Planned)
    .check(
      z.minLength(1, 'Name at least one cluster'),
      z.maxLength(mostPlanned, `At most ${mostPlanned} clusters at once`),
    ),
  /** Instead of the numbers of the template. */
  control_planes: z.optional(controlPlanes),
  workers: z.optional(servers(0)),
  /** Instead of the versions of the template. */
  talos_version: NewCluster.shape.talos_version,
  kubernetes_version: NewCluster.shape.kubernetes_version,
  /** Servers that are not to be chosen. */
  without: z._default(z.array(z.uuid()).check(z.maxLength(10_000)), []),
})
export type TemplatePlan = z.infer<typeof TemplatePlan>

const PlannedDisk = z.object({
  /** `/dev/nvme0n1` */
  device: z.string(),
  /** "Samsung PM9A3, serial S6XY": what stands on the disk. */
  disk: z.string(),
  size: z.nullable(z.number()),
  content: z.string(),
})
const PlannedServer = z.object({
  node_id: z.uuid(),
  name: z.string(),
  role: ClusterRole,
  rack: z.nullable(z.string()),
  /** Why this server. */
  reasons: z.array(z.string()),
  install_disk: z.object({ ...PlannedDisk.shape, reason: z.string(), wiped: z.boolean() }),
  /** All of them are wiped. */
  workload_disks: z.array(PlannedDisk),
})
export type PlannedServer = z.infer<typeof PlannedServer>

export const PlannedCluster = z.object({
  name: z.string(),
  servers: z.array(PlannedServer),
  /**
   * The body of `clusterCreate`: the servers and disks of this plan. `confirmed_disks` names the
   * empty disks, so that the creation is refused if one of them has changed since.
   */
  body: NewCluster,
  /** Disks that hold something: a person confirms them before the creation. */
  to_confirm: z.array(DiskToConfirm),
  /** Free subnets for the cluster, assigned once it is ready. */
  subnets: z.array(z.object({ id: z.uuid(), name: z.string(), cidr: z.string() })),
})
export type PlannedCluster = z.infer<typeof PlannedCluster>

export const PlannedClusters = z.object({
  /** The template, with the wishes of the call in it. */
  template: NewTemplate,
  /** Null if the clusters can't be made as the template says; then `refusals` say why. */
  clusters: z.nullable(z.array(PlannedCluster)),
  refusals: z.array(z.string()),
  /** The nearest versions that can be had; null unless those of the template are gone. */
  nearest: z.nullable(z.object({ talos_version: z.string(), kubernetes_version: z.string() })),
  warnings: z.array(z.string()),
  /** The servers of the datacenter that are not chosen, by reason, most first. */
  left: z.array(
    z.object({
      reason: z.string(),
      count: z.int(),
      /** The first of them. */
      servers: z.array(z.object({ id: z.uuid(), name: z.string() })),
    }),
  ),
})
export type PlannedClusters = z.infer<typeof PlannedClusters>

export const templatePlan = operation('templatePlan', 'POST /v1/templates/plan', 'clusters:write', {
  summary:
    'Choose servers for clusters from a template, with the reason for each, and name the disks that would be wiped. Reserves and changes nothing: `clusterCreate` with the body of a planned cluster makes it. Also needs servers:read, and with subnets network:read.',
  body: TemplatePlan,
  answer: PlannedClusters,
  errors: ['not_found'],
})

const example: NewTemplateInput = {
  name: 'shop',
  talos_version: 'v1.13.9',
  control_planes: { count: 3, needs: { cores: 16, disks: [{ count: 2, type: 'NVME' }] } },
  workers: {
    count: 5,
    needs: { cores: 16, labels: 'gen=r650' },
    install_disk: { type: 'SSD', prefer: 'smallest' },
    workload_disks: { type: 'NVME' },
  },
  subnets: [{ type: 'IPv4', addresses: 30 }],
}

/** Words for the API documentation. */
export const words: Words = {
  objects: {
    NewTemplate: [
      NewTemplate,
      'A template of clusters to save. All fields but the name have a default.',
    ],
    ListedTemplate: [ListedTemplate, 'A template in a list, with the beginnings of its patches.'],
    Template: [Template, 'What clusters of one kind have in common; never a secret or a server.'],
    PlannedClusters: [
      PlannedClusters,
      'Clusters as they would be made from a template: which servers, why, and which disks would be wiped.',
    ],
  },
  fields: {
    'templatePlan.template_id': 'Id of a saved template. Give it or `template`.',
    'templatePlan.template': 'A template that is not saved.',
    'templatePlan.clusters': 'The clusters to plan. No server is chosen twice.',
    'templatePlan.control_planes':
      'Number of control planes of each cluster. Default: that of the template.',
    'templatePlan.workers': 'Number of workers of each cluster. Default: that of the template.',
    'templatePlan.talos_version': 'Instead of the version of the template.',
    'templatePlan.kubernetes_version': 'Instead of the version of the template.',
    without: 'Ids of servers that are not to be chosen.',
  },
  bodies: {
    templateCreate: example,
    templateUpdate: example,
    templatePlan: {
      template_id: '00000000-0000-4000-8000-000000000006',
      datacenter_id: '00000000-0000-4000-8000-000000000001',
      clusters: [{ name: 'shop-02' }],
      workers: 5,
    },
  },
}
