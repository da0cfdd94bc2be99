/**
 * Takes over clusters made with other tools, and imports changed CAs. A user proves ownership by
 * the secrets bundle (`talosctl gen secrets`), or by an admin's talosconfig, with which the secrets
 * are read from a control plane. The secrets are checked against the machines before anything is
 * stored.
 */
import * as z from 'zod/mini'
import { Check, Cluster, ClusterRole } from './clusters.ts'
import { ExistingObject, ReplaceableObject } from './existing.ts'
import { nameOf } from '../names.ts'
import { operation, type Words } from '../operation.ts'
import { Operation } from '../operations.ts'

const file = (what: string) =>
  z.optional(
    z
      .string()
      .check(
        z.minLength(1, `The ${what} is empty`),
        z.maxLength(128 * 1024, `A ${what} is at most 128 KiB`),
      ),
  )

const proof = {
  /** `secrets.yaml` of talosctl. */
  secrets: file('secrets bundle'),
  /** A talosconfig of an admin, instead of the bundle. */
  talosconfig: file('talosconfig'),
  /**
   * A kubeconfig of an admin, given together with a talosconfig to check that both belong to the
   * same cluster.
   */
  kubeconfig: file('kubeconfig'),
}

const ImportedCluster = {
  ...proof,
  /** Addresses of control planes. Default: the endpoints of the talosconfig. */
  addresses: z._default(
    z
      .array(z.string().check(z.trim(), z.maxLength(64)))
      .check(z.maxLength(16, 'At most 16 addresses')),
    [],
  ),
  datacenter_id: z.uuid(),
  /** Default: the cluster's own name. */
  name: z.optional(nameOf('Cluster')),
}

const oneProof = z.refine<{ secrets?: string | undefined; talosconfig?: string | undefined }>(
  (b) => (b.secrets === undefined) !== (b.talosconfig === undefined),
  {
    error: 'Give either the secrets bundle or a talosconfig',
    path: ['secrets'],
  },
)

export const TakeoverServer = z.object({
  /** Node name in Kubernetes, which becomes the server's name. */
  name: z.string(),
  address: z.nullable(z.string()),
  role: z.nullable(ClusterRole),
  uuid: z.nullable(z.string()),
  serial: z.nullable(z.string()),
  product: z.nullable(z.string()),
  talos_version: z.nullable(z.string()),
  /** The registered server that is this machine; null: the machine will be registered. */
  known: z.nullable(z.object({ id: z.uuid(), name: z.string() })),
  /** The reason why this machine prevents the takeover. */
  problem: z.nullable(z.string()),
})
export type TakeoverServer = z.infer<typeof TakeoverServer>

export const Takeover = z.object({
  name: z.string(),
  endpoint: z.string(),
  virtual_ip: z.boolean(),
  talos_version: z.string(),
  kubernetes_version: z.string(),
  pod_cidr: z.string(),
  service_cidr: z.string(),
  servers: z.array(TakeoverServer),
  checks: z.array(Check),
  /**
   * Objects in the cluster's Kubernetes that Steelyard would otherwise write, and its bootstrap
   * tokens. Each is kept unless `replace` names it.
   */
  existing: z.array(ExistingObject),
  /** Digest of the findings. The takeover is refused if the findings have changed. */
  seen: z.string(),
})
export type Takeover = z.infer<typeof Takeover>

export const clusterImportPreview = operation(
  'clusterImportPreview',
  'POST /v1/clusters/import/preview',
  'clusters:write',
  {
    summary:
      'Inspects a cluster that was created without Steelyard and returns what taking it over would do. Only reads from the machines; changes nothing.',
    body: z.strictObject(ImportedCluster).check(oneProof),
    answer: Takeover,
    errors: ['not_found', 'dial_refused', 'server_unreachable'],
  },
)
const confirmed = z.optional(z.string().check(z.trim(), z.maxLength(64)))

export const clusterImport = operation(
  'clusterImport',
  'POST /v1/clusters/import',
  'clusters:write',
  {
    summary:
      'Takes over a cluster that was created without Steelyard, as previewed. The cluster is ready at once; nothing is sent to its machines.',
    body: z
      .strictObject({
        ...ImportedCluster,
        seen: z
          .string()
          .check(
            z.regex(/^[0-9a-f]{64}$/, 'Use the `seen` value of the preview that you looked at'),
          ),
        /** Existing objects that are replaced. Default: none, all are kept. */
        replace: z._default(
          z.array(ReplaceableObject).check(z.maxLength(8, 'Name each object once')),
          [],
        ),
        /** The name of the cluster, which confirms `replace`. */
        confirm: confirmed,
      })
      .check(oneProof),
    answer: z.object({ cluster: Cluster, operation: Operation }),
    errors: [
      'not_found',
      'dial_refused',
      'server_unreachable',
      'name_taken',
      'server_taken',
      'not_eligible',
      'stale',
    ],
  },
)
/** A cluster whose own key was kept gets a key of this Steelyard. */
export const clusterKeyReplace = operation(
  'clusterKeyReplace',
  'POST /v1/clusters/{id}/key',
  'clusters:write',
  {
    summary:
      "Replaces the key that a cluster had before its takeover by a key of this Steelyard. Offers that use the former key can't be proved any more.",
    body: z.strictObject({
      /**
       * The address of the key that is replaced, as the cluster shows it in `kept`; null if it has
       * none.
       */
      address: z.nullable(z.string().check(z.maxLength(64))),
      /** The name of the cluster. */
      confirm: z.string().check(z.trim(), z.maxLength(64)),
    }),
    answer: Cluster,
    errors: ['server_unreachable', 'cluster_not_ready', 'not_eligible', 'stale'],
  },
)
export const clusterSecretsImport = operation(
  'clusterSecretsImport',
  'POST /v1/clusters/{id}/secrets',
  'clusters:write',
  {
    summary:
      'Imports the new secrets of a cluster whose certificate authorities were changed outside of Steelyard, such as with `talosctl rotate-ca`.',
    body: z
      .strictObject({ secrets: proof.secrets, talosconfig: proof.talosconfig })
      .check(oneProof),
    answer: Cluster,
    errors: ['server_unreachable', 'operation_running', 'cluster_not_ready'],
  },
)

/** Words for the API documentation. */
export const words: Words = {
  objects: {
    Takeover: [
      Takeover,
      'A cluster that was created without Steelyard, as its machines report it, and what taking it over would do.',
    ],
    TakeoverServer: [TakeoverServer, 'A machine of a cluster that is taken over.'],
  },
  fields: {
    'clusterImport.addresses':
      'Addresses of control planes. Default: the endpoints of the talosconfig.',
    'clusterImportPreview.addresses':
      'Addresses of control planes. Default: the endpoints of the talosconfig.',
    'clusterImport.name':
      'Name of the cluster in Steelyard. Default: the name that the cluster has.',
    'clusterImportPreview.name':
      'Name of the cluster in Steelyard. Default: the name that the cluster has.',
    'clusterImport.replace':
      'Objects of `existing` in the preview that are replaced. Default: none, all are kept.',
    'clusterImport.confirm': 'The name of the cluster, which confirms `replace`.',
    'clusterKeyReplace.address':
      'Address of the key that is replaced, as `kept` of the cluster shows it; null if it has none.',
    'clusterKeyReplace.confirm': 'The name of the cluster.',
    'clusterImport.seen':
      'The `seen` value of the preview. The request is refused if the cluster or its machines have changed since.',
    kubeconfig: "Text of an admin's kubeconfig, to check that it belongs to the same cluster.",
    secrets: 'Text of the secrets bundle, as `talosctl gen secrets` writes it.',
    talosconfig:
      "Text of an admin's talosconfig, instead of the bundle: the secrets are then read from a control plane.",
  },
  bodies: {
    clusterImport: {
      talosconfig: 'context: prod\ncontexts: {}\n',
      addresses: ['10.1.2.11'],
      datacenter_id: '00000000-0000-4000-8000-000000000001',
      name: 'prod',
      seen: '0000000000000000000000000000000000000000000000000000000000000000',
      replace: ['cluster_key'],
      confirm: 'prod',
    },
    clusterImportPreview: {
      talosconfig: 'context: prod\ncontexts: {}\n',
      addresses: ['10.1.2.11'],
      datacenter_id: '00000000-0000-4000-8000-000000000001',
      name: 'prod',
    },
    clusterKeyReplace: { address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed', confirm: 'prod' },
    clusterSecretsImport: { talosconfig: 'context: prod\ncontexts: {}\n' },
  },
}
