/** The words of each kind of change of a running cluster. */
import type { ChangeKindName } from '#contract/clusters/changes/changes.ts'
import type { Cluster } from '#contract/clusters/clusters.ts'
import type { IconName } from '../../../ui/pictures/Icon.tsx'

/** What the form of every kind gets. */
export interface ChangeFormProps {
  cluster: Cluster
  /** Id of the server that the page was opened for, if any. */
  server: string | undefined
  /** Id of the snapshot that the page was opened for, if any. */
  snapshot: string | undefined
  /** Id of the earlier change that the page was opened to take back, if any. */
  takeBack?: string | undefined
  /** Whether the page was opened to remove `server` by force, because it does not answer. */
  isForced: boolean
}

interface KindOfChange {
  /** Label of the action. */
  label: string
  icon: IconName
  /** What the change does, in a sentence. */
  text: string
}

export const changeKinds = {
  grow: {
    label: 'Add servers',
    icon: 'add',
    text: "Free servers of the cluster's datacenter join the cluster: control planes one after another, then all workers together.",
  },
  replace: {
    label: 'Replace a server',
    icon: 'swap',
    text: 'A free server replaces a server of the cluster and gets its role. The replaced server may be dead.',
  },
  role: {
    label: 'Change roles',
    icon: 'refresh',
    text: 'Workers become control planes, and control planes workers. Talos cannot change the type of a machine in place: each server is drained, reset, and joins again.',
  },
  shrink: {
    label: 'Remove servers',
    icon: 'minus',
    text: 'Servers leave the cluster one after another: each is drained, leaves etcd, and is reset. The data of the cluster on it is wiped; Talos stays installed.',
  },
  upgradeTalos: {
    label: 'Upgrade Talos',
    icon: 'arrow-up',
    text: 'Talos is upgraded server by server: each is drained and restarts. If one does not come back healthy, the upgrade stops there.',
  },
  rollbackTalos: {
    label: 'Roll Talos back',
    icon: 'arrow-down',
    text: 'A server is drained and restarts with the Talos version that it ran before its last upgrade.',
  },
  upgradeKubernetes: {
    label: 'Upgrade Kubernetes',
    icon: 'arrow-up',
    text: 'The control planes are upgraded first, one after another, then the kubelet of each server. At most one minor version at a time.',
  },
  configure: {
    label: 'Change patches',
    icon: 'edit',
    text: 'A patch is added, replaced or removed on one server after another. A server restarts only if Talos says that the change needs it.',
  },
  documents: {
    label: 'Move to documents',
    icon: 'copy',
    text: 'The configurations are moved to the documents of Talos 1.14, one server after another. They mean the same; afterwards no server can be rolled back to an older Talos.',
  },
  extensions: {
    label: 'Change extensions',
    icon: 'chip',
    text: 'Servers get an image with other system extensions or kernel arguments, one after another: each is drained and restarts. Settings that you leave out do not change.',
  },
  snapshot: {
    label: 'Take a snapshot',
    icon: 'bookmark',
    text: 'The data of etcd is copied to a store, encrypted, and read back. The cluster keeps running.',
  },
  restore: {
    label: 'Restore a snapshot',
    icon: 'download',
    text: 'The cluster gets the Kubernetes objects of a snapshot. What was written to the cluster after the snapshot is lost.',
  },
  rotate: {
    label: 'Rotate secrets',
    icon: 'key',
    text: 'An authority or the tokens are replaced in the order of Talos. Every server first accepts the new authority besides the old one, so connections work all the time.',
  },
  disks: {
    label: 'Change workload disks',
    icon: 'disk',
    text: 'Disks of a server become workload disks, or stop being one. Nothing is written to a disk that is added.',
  },
  endpoint: {
    label: 'Change the API endpoint',
    icon: 'network',
    text: 'The Kubernetes API gets another address. The certificates contain both addresses before the first server uses the new one.',
  },
  defragment: {
    label: 'Defragment etcd',
    icon: 'disk',
    text: 'Frees the disk space of deleted revisions, one member after another, the leader last. Then clears alarms about missing space.',
  },
} as const satisfies Readonly<Record<ChangeKindName, KindOfChange>>

export type ShownKind = keyof typeof changeKinds
export const shownKinds = Object.keys(changeKinds) as ShownKind[]
export const isShownKind = (kind: string): kind is ShownKind => Object.hasOwn(changeKinds, kind)
export const kindOf = (kind: ShownKind): KindOfChange => changeKinds[kind]
