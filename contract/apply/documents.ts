/**
 * Documents with which people keep an installation in files: `steelyard apply`, `diff` and
 * `export`. The fields are those of the API's bodies, with names in place of ids. A field that is
 * left out has the default of the API; where the API has none, the field isn't managed.
 */
import * as z from 'zod/mini'
import { NewSnapshotSchedule } from '../clusters/changes/snapshot-schedule.ts'
import { MaintenanceWindow } from '../clusters/changes/window.ts'
import { ClusterServer, endpointText, NewCluster } from '../clusters/clusters.ts'
import { DatacenterInput } from '../datacenters.ts'
import { ExtensionNames, KernelArgs } from '../images/customization.ts'
import { NewImage } from '../images.ts'
import { AllLabels } from '../labels/labels.ts'
import { OfferChange } from '../marketplace/offers.ts'
import { NewJoinToken } from '../join-tokens.ts'
import { nameOf } from '../names.ts'
import { NewSubnet } from '../network/subnets.ts'
import { NewPatch } from '../patches.ts'
import { serverName } from '../servers/servers.ts'
import { NewSharedPatch, sharedPatchLimits, Targets } from '../shared-patches/shared-patches.ts'
import { mostPlanned, NewTemplate, TemplatePlan } from '../templates/templates.ts'

const datacenterCode = z
  .string('Name the datacenter by its code, such as PL-POZ-1')
  .check(
    z.trim(),
    z.regex(
      /^[A-Z]{2}-[A-Z2-9]{3}-[1-9]\d{0,2}$/,
      'A datacenter is named by its code, such as PL-POZ-1',
    ),
  )
const identity = (most: number) =>
  z.optional(
    z.string('Write it in quotes: it is text').check(z.trim(), z.minLength(1), z.maxLength(most)),
  )

/** All labels of an object. If they are left out, they aren't managed. YAML reads `3` as a number. */
const labels = z.optional(
  z.pipe(z.record(z.string(), z.string('Write it in quotes: it is text')), AllLabels),
)

/** The code gives country, city and index. */
export const DatacenterDocument = z.strictObject({
  kind: z.literal('datacenter'),
  code: datacenterCode,
  ...z.omit(z.object(DatacenterInput.shape), { country_code: true, city_code: true, index: true })
    .shape,
})

/**
 * A registered server, matched by its system UUID or serial number. Documents never create or
 * remove a server.
 */
export const ServerDocument = z
  .strictObject({
    kind: z.literal('server'),
    uuid: identity(64),
    serial: identity(256),
    name: z.optional(serverName),
    datacenter: z.optional(z.nullable(datacenterCode)),
    labels,
  })
  .check(
    z.refine((s) => s.uuid !== undefined || s.serial !== undefined, {
      error: 'Give the system UUID or the serial number of the server',
      path: ['uuid'],
    }),
  )

export const JoinTokenDocument = z.strictObject({
  kind: z.literal('join-token'),
  ...z.omit(NewJoinToken, { datacenter_id: true }).shape,
  datacenter: z._default(z.nullable(datacenterCode), null),
})

export const SubnetDocument = z.strictObject({
  kind: z.literal('subnet'),
  ...z.omit(z.object(NewSubnet.shape), { datacenter_id: true }).shape,
  datacenter: datacenterCode,
})

/** An image has no name: an image with the same fields is the same image. */
export const ImageDocument = z.strictObject({
  kind: z.literal('image'),
  ...z.omit(NewImage, { datacenter_id: true, token_id: true }).shape,
  datacenter: z._default(z.nullable(datacenterCode), null),
  /** Name of the join token. */
  token: z._default(z.nullable(nameOf('Join token')), null),
})

export const PatchDocument = z.strictObject({
  kind: z.literal('patch'),
  /** Name of the server. */
  server: serverName,
  ...NewPatch.shape,
})

/** A patch of the fleet. Saving it sends nothing. */
export const SharedPatchDocument = z.strictObject({
  kind: z.literal('shared-patch'),
  ...z.omit(NewSharedPatch, { targets: true }).shape,
  targets: z.strictObject({
    ...z.omit(Targets, { cluster_ids: true, node_ids: true }).shape,
    /** Names. */
    clusters: z._default(
      z.array(nameOf('Cluster')).check(z.maxLength(sharedPatchLimits.clusters)),
      [],
    ),
    servers: z._default(z.array(serverName).check(z.maxLength(sharedPatchLimits.servers)), []),
  }),
  /** True: the servers that are behind get it, one after another. */
  roll_out: z._default(z.boolean(), false),
  /** Name of the server that a roll-out changes first. */
  canary: z.optional(serverName),
})

const ClusterMember = z.strictObject({
  server: serverName,
  ...z.omit(ClusterServer, { node_id: true, patch: true }).shape,
})
/** The schedule of a cluster's snapshots, with the name of the store. */
const ClusterSnapshots = z.strictObject({
  store: nameOf('Store'),
  ...z.omit(NewSnapshotSchedule, { store_id: true }).shape,
})
/**
 * A running cluster is changed as its document says. The datacenter, the VLAN and the networks of a
 * cluster are fixed at its creation.
 */
export const ClusterDocument = z.strictObject({
  kind: z.literal('cluster'),
  ...z.omit(NewCluster, {
    datacenter_id: true,
    servers: true,
    confirmed_disks: true,
    confirmed_loss: true,
    subnet_ids: true,
    virtual_ip: true,
    pod_cidr: true,
    service_cidr: true,
  }).shape,
  datacenter: datacenterCode,
  virtual_ip: z.optional(z.boolean()),
  pod_cidr: z.optional(NewCluster.shape.pod_cidr.def.innerType),
  service_cidr: z.optional(NewCluster.shape.service_cidr.def.innerType),
  servers: z
    .array(ClusterMember)
    .check(z.minLength(1, 'A cluster needs a server'), z.maxLength(500)),
  /** Names of the assigned subnets. If they are left out, the assignment isn't managed. */
  subnets: z.optional(z.array(nameOf('Subnet')).check(z.maxLength(200))),
  /** Extensions of every server. If they are left out, they aren't managed. */
  extensions: z.optional(ExtensionNames),
  kernel_args: z.optional(KernelArgs),
  labels,
  /** True: only files of this set change the cluster. A person releases it. */
  locked: z.optional(z.boolean()),
  /** null: the cluster has no window. If it is left out, it isn't managed. */
  maintenance_window: z.optional(z.nullable(MaintenanceWindow)),
  /** null: the cluster has no schedule. If it is left out, it isn't managed. */
  snapshots: z.optional(z.nullable(ClusterSnapshots)),
})

/** A template of clusters. Its fields are those of the API. */
export const TemplateDocument = z.strictObject({
  kind: z.literal('template'),
  ...NewTemplate.shape,
})

/**
 * Clusters that are made from a template, if they don't exist. One that exists stays as it is: a
 * document of the kind `cluster` changes it.
 */
export const ClustersDocument = z.strictObject({
  kind: z.literal('clusters'),
  template: nameOf('Template'),
  datacenter: datacenterCode,
  names: z
    .array(nameOf('Cluster'))
    .check(
      z.minLength(1, 'Name at least one cluster'),
      z.maxLength(mostPlanned, `At most ${mostPlanned} clusters in one document`),
    ),
  /** Endpoints by the names of the clusters. */
  endpoints: z._default(z.record(nameOf('Cluster'), endpointText), {}),
  control_planes: TemplatePlan.shape.control_planes,
  workers: TemplatePlan.shape.workers,
  talos_version: TemplatePlan.shape.talos_version,
  kubernetes_version: TemplatePlan.shape.kubernetes_version,
})

/**
 * The offer of a cluster. Its resources are counted by Steelyard, and its access address is set by
 * an authorised person.
 */
export const OfferDocument = z.strictObject({
  kind: z.literal('offer'),
  cluster: nameOf('Cluster'),
  ...OfferChange.shape,
})

export type DatacenterDocument = z.infer<typeof DatacenterDocument>
export type ServerDocument = z.infer<typeof ServerDocument>
export type JoinTokenDocument = z.infer<typeof JoinTokenDocument>
export type SubnetDocument = z.infer<typeof SubnetDocument>
export type ImageDocument = z.infer<typeof ImageDocument>
export type PatchDocument = z.infer<typeof PatchDocument>
export type SharedPatchDocument = z.infer<typeof SharedPatchDocument>
export type ClusterDocument = z.infer<typeof ClusterDocument>
export type TemplateDocument = z.infer<typeof TemplateDocument>
export type ClustersDocument = z.infer<typeof ClustersDocument>
export type OfferDocument = z.infer<typeof OfferDocument>

/** The schema of each kind of document, in the order in which objects are created. */
export const documentSchemas = {
  datacenter: DatacenterDocument,
  'join-token': JoinTokenDocument,
  server: ServerDocument,
  subnet: SubnetDocument,
  image: ImageDocument,
  patch: PatchDocument,
  cluster: ClusterDocument,
  'shared-patch': SharedPatchDocument,
  template: TemplateDocument,
  clusters: ClustersDocument,
  offer: OfferDocument,
} as const
export type DocumentKind = keyof typeof documentSchemas
export const documentKinds = Object.keys(documentSchemas) as DocumentKind[]
export type DocumentOf<K extends DocumentKind> = z.infer<(typeof documentSchemas)[K]>
export type AnyDocument = { [K in DocumentKind]: DocumentOf<K> }[DocumentKind]
