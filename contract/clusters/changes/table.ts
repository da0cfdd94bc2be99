/**
 * The kinds of changes of a running cluster, as rows of `operationTable`: each change is an
 * operation. The schemas are in `changes.ts` to avoid a cycle of imports: `clusters.ts` imports
 * `operations.ts`, which imports this file.
 */
import * as z from 'zod/mini'
import { ConfirmedDisks } from '../../disks/disks.ts'
import { KeptLoss } from '../../servers/losses.ts'
import { joiningSteps, leavingSteps } from '../steps.ts'
import { rotateRow } from './rotate.ts'

type Named = { readonly name: string }
/** A server with the Talos version that it gets. */
type Versioned = Named & { readonly version: string }

/** Fields of every kind. The argument `change` is a `ClusterChange`; its reconciler parses it. */
const everyChange = {
  target: 'cluster',
  scope: 'clusters',
  arguments: z.object({
    change: z._default(z.unknown(), null),
    confirmed_disks: ConfirmedDisks,
    confirmed_loss: KeptLoss,
    /** The set of files that the change carries out; null if none does. */
    applied_set: z._default(z.nullable(z.string()), null),
    /** Whether the plan gave a server that joins another image than the one that it runs. */
    other_image: z._default(z.boolean(), false),
    /** The servers that an act on many may restart; null: any of the cluster. */
    chosen: z._default(z.nullable(z.array(z.string())), null),
  }),
} as const

/**
 * Steps that several kinds have. The key of a step about one server ends with the server's id:
 * `drain/<id>`.
 */
export const sharedChangeSteps = {
  drain: (s: Named) => `Move the workload off ${s.name}`,
  uncordon: (s: Named) => `Let ${s.name} run workload again`,
  'node-ready': (s: Named) => `${s.name} is Ready in Kubernetes`,
  'etcd-healthy': () => 'Every member of etcd is healthy',
  'control-plane': (s: Named) =>
    `The API server, etcd, the kubelet and the other components of ${s.name} are well`,
} as const

/** The step of an upgrade before all others. */
const snapshotStep = {
  snapshot: (store: Named) => `Take a snapshot of etcd into ${store.name}, and read it back`,
} as const

/** Steps of a server that joins a running cluster. */
const growingSteps = {
  ...joiningSteps,
  'control-plane': sharedChangeSteps['control-plane'],
} as const

/**
 * Steps of a server that leaves. `uncordon` is only for a change that is cancelled before the
 * server has left.
 */
const departingSteps = {
  drain: sharedChangeSteps.drain,
  ...leavingSteps,
  'control-planes': (s: Named) => `Every other control plane is well without ${s.name}`,
  uncordon: (s: Named) => `Let ${s.name} run workload again if it stays`,
} as const
/** Steps of a server that gets another configuration. */
export const sendingSteps = {
  ...sharedChangeSteps,
  try: (s: Named) => `Try the configuration on ${s.name} without changing it`,
  configure: (s: Named) => `Send ${s.name} its configuration`,
  answers: (s: Named) => `${s.name} runs its configuration`,
  'etcd-back': sharedChangeSteps['etcd-healthy'],
} as const

export const changeTable = {
  clusterSnapshot: {
    ...everyChange,
    change: 'snapshot',
    title: 'Take a snapshot of',
    steps: { take: (store: Named) => `Copy etcd to ${store.name}, encrypted, and read it back` },
    audit: 'cluster.snapshot_requested',
    event: 'A snapshot was requested',
    command: 'cluster snapshot',
  },
  clusterRestore: {
    ...everyChange,
    change: 'restore',
    title: 'Restore',
    steps: {
      read: () => 'Read the snapshot back from its store and check it',
      wipe: (s: { readonly names: string }) =>
        `Wipe the data of etcd on ${s.names}, and wait until etcd can be restored there`,
      ...joiningSteps,
      upload: (s: Named) => `Send the snapshot to ${s.name}`,
      recover: (s: Named) => `Start etcd on ${s.name} from the snapshot`,
      members: () => 'Every control plane is a healthy member of etcd',
      objects: () => 'The Kubernetes API has the objects of the snapshot',
      stale: () => 'Remove nodes that no longer belong to the cluster',
      'node-ready': sharedChangeSteps['node-ready'],
    },
    audit: 'cluster.restore_requested',
    event: 'A restore from a snapshot was requested',
    command: 'cluster restore',
  },
  clusterGrow: {
    ...everyChange,
    change: 'grow',
    title: 'Add servers to',
    steps: growingSteps,
    audit: 'cluster.grow_requested',
    event: 'An addition of servers was requested',
    command: 'cluster grow',
  },
  clusterShrink: {
    ...everyChange,
    change: 'shrink',
    title: 'Remove servers from',
    steps: departingSteps,
    audit: 'cluster.shrink_requested',
    event: 'A removal of servers was requested',
    command: 'cluster shrink',
  },
  clusterRole: {
    ...everyChange,
    change: 'role',
    title: 'Change roles of servers of',
    steps: { ...departingSteps, ...growingSteps },
    audit: 'cluster.role_requested',
    event: 'A change of roles was requested',
    command: 'cluster role',
  },
  clusterReplace: {
    ...everyChange,
    change: 'replace',
    title: 'Replace a running server of',
    steps: { ...departingSteps, ...growingSteps },
    audit: 'cluster.replace_requested',
    event: 'A replacement of a server was requested',
    command: 'cluster replace',
  },
  clusterDefragment: {
    ...everyChange,
    change: 'defragment',
    title: 'Defragment etcd of',
    steps: {
      'etcd-healthy': sharedChangeSteps['etcd-healthy'],
      defragment: (s: Named) => `Defragment etcd on ${s.name}`,
      disarm: () => 'Clear the alarms about missing space',
    },
    audit: 'cluster.defragment_requested',
    event: 'A defragmentation of etcd was requested',
    command: 'cluster defragment',
  },
  clusterUpgradeTalos: {
    ...everyChange,
    change: 'upgradeTalos',
    title: 'Upgrade Talos of',
    steps: {
      ...sharedChangeSteps,
      ...snapshotStep,
      image: () => 'The image factory has the installer for every server',
      write: (s: Versioned) => `Write Talos ${s.version} to the disk of ${s.name}`,
      upgrade: (s: Versioned) => `${s.name} restarts with Talos ${s.version}`,
      follow: (s: Versioned) =>
        `The configuration of ${s.name} names the installer of ${s.version}`,
    },
    audit: 'cluster.talos_upgrade_requested',
    event: 'An upgrade of Talos was requested',
    command: 'cluster upgrade-talos',
  },
  clusterExtensions: {
    ...everyChange,
    change: 'extensions',
    title: 'Change extensions of',
    steps: {
      ...sharedChangeSteps,
      image: () => 'The image factory has the new image for every server',
      write: (s: Versioned) => `Write the new image to the disk of ${s.name}`,
      upgrade: (s: Versioned) => `${s.name} restarts with the new image`,
      follow: (s: Versioned) => `The configuration of ${s.name} names the new image`,
    },
    audit: 'cluster.extensions_requested',
    event: 'A change of extensions was requested',
    command: 'cluster extensions',
  },
  clusterRollbackTalos: {
    ...everyChange,
    change: 'rollbackTalos',
    title: 'Roll back Talos on a server of',
    steps: {
      ...sharedChangeSteps,
      image: () => 'Look up what the server ran before',
      upgrade: (s: Versioned) => `${s.name} restarts with Talos ${s.version}, which it ran before`,
      follow: (s: Versioned) =>
        `The configuration of ${s.name} names the installer of ${s.version}`,
    },
    audit: 'cluster.talos_rollback_requested',
    event: 'A rollback of Talos on a server was requested',
    command: 'cluster rollback-talos',
  },
  clusterConfigure: {
    ...everyChange,
    change: 'configure',
    title: 'Change patches of',
    steps: sendingSteps,
    audit: 'cluster.configure_requested',
    event: 'A change of patches was requested',
    command: 'cluster configure',
  },
  clusterUpgradeKubernetes: {
    ...everyChange,
    change: 'upgradeKubernetes',
    title: 'Upgrade Kubernetes of',
    steps: {
      ...sharedChangeSteps,
      ...snapshotStep,
      images: (s: Named) => `${s.name} pulls the images of the new version`,
      'kube-apiserver': (s: Named) => `Update kube-apiserver on ${s.name}`,
      'kube-controller-manager': (s: Named) => `Update kube-controller-manager on ${s.name}`,
      'kube-scheduler': (s: Named) => `Update kube-scheduler on ${s.name}`,
      'kube-proxy': (s: Named) => `Set the version of kube-proxy in the configuration of ${s.name}`,
      kubelet: (s: Named) => `Update the kubelet of ${s.name}`,
      manifests: () => 'Update the objects that Talos maintains in the cluster',
      rollout: () => 'The updated objects are rolled out',
    },
    audit: 'cluster.kubernetes_upgrade_requested',
    event: 'An upgrade of Kubernetes was requested',
    command: 'cluster upgrade-kubernetes',
  },
  clusterDocuments: {
    ...everyChange,
    change: 'documents',
    title: 'Move to documents the configurations of',
    steps: sendingSteps,
    audit: 'cluster.documents_requested',
    event: 'A move of its configurations to documents was requested',
    command: 'cluster move-to-documents',
  },
  clusterEndpoint: {
    ...everyChange,
    change: 'endpoint',
    title: 'Change the endpoint of',
    steps: {
      names: (s: Named) => `The certificate of ${s.name} names both endpoints`,
      reach: () => 'The Kubernetes API answers at the new endpoint',
      endpoint: (s: Named) => `${s.name} uses the new endpoint`,
      'node-ready': sharedChangeSteps['node-ready'],
      swap: () => 'Kubeconfigs name the new endpoint',
      'control-plane': sharedChangeSteps['control-plane'],
      forget: (s: Named) => `The certificate of ${s.name} no longer names the old endpoint`,
    },
    audit: 'cluster.endpoint_requested',
    event: 'A change of its endpoint was requested',
    command: 'cluster endpoint',
  },
  clusterDisks: {
    ...everyChange,
    change: 'disks',
    title: 'Change workload disks of',
    steps: {
      wipe: (s: Named & { readonly disks: readonly string[] }) =>
        `Wipe ${s.disks.join(', ')} of ${s.name}`,
      disks: (s: Named) => `Record the workload disks of ${s.name}`,
    },
    audit: 'cluster.disks_requested',
    event: 'A change of workload disks was requested',
    command: 'cluster disks',
  },
  clusterRotate: {
    ...everyChange,
    ...rotateRow,
    steps: { ...sharedChangeSteps, ...rotateRow.steps },
  },
} as const
