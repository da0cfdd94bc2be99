/** The kinds of changes of a running cluster that the console has a form for. */
import type { ComponentType } from 'react'
import type { ChangeKindName } from '#contract/clusters/changes/changes.ts'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { part } from '../../../ui/part.tsx'
import type { IconName } from '../../../ui/pictures/Icon.tsx'

export interface ChangeFormProps {
  cluster: Cluster
  /** Id of the server that the page was opened for, if any. */
  server: string | undefined
}

interface KindOfChange {
  /** Label of the action. */
  label: string
  icon: IconName
  /** What the change does, in a sentence. */
  text: string
  Form: ComponentType<ChangeFormProps>
}

export const changeKinds = {
  grow: {
    label: 'Add servers',
    icon: 'add',
    text: "Free servers of the cluster's datacenter join the cluster: control planes one after another, then all workers together.",
    Form: part(() => import('./forms/Grow.tsx')),
  },
  replace: {
    label: 'Replace a server',
    icon: 'swap',
    text: 'A free server takes the place and the role of a server, which may be dead.',
    Form: part(() => import('./forms/Replace.tsx')),
  },
  role: {
    label: 'Change roles',
    icon: 'refresh',
    text: 'Workers become control planes, and control planes workers. Talos cannot change the type of a machine in place: each server is drained, reset, and joins again.',
    Form: part(() => import('./forms/Role.tsx')),
  },
  shrink: {
    label: 'Remove servers',
    icon: 'minus',
    text: 'Servers leave the cluster one after another: each is drained, leaves etcd, and is reset. Its data of the cluster is wiped; Talos stays installed.',
    Form: part(() => import('./forms/Shrink.tsx')),
  },
  upgradeTalos: {
    label: 'Upgrade Talos',
    icon: 'arrow-up',
    text: 'Talos is upgraded server by server: each is drained and restarts. If one does not come back healthy, the upgrade stops there.',
    Form: part(() => import('./forms/UpgradeTalos.tsx')),
  },
  rollbackTalos: {
    label: 'Roll Talos back',
    icon: 'arrow-down',
    text: 'A server is drained and restarts with the Talos that it ran before its last upgrade.',
    Form: part(() => import('./forms/RollbackTalos.tsx')),
  },
  extensions: {
    label: 'Change extensions',
    icon: 'chip',
    text: 'Servers get an image with other system extensions or kernel arguments, one after another: each is drained and restarts. What is left out stays as it is.',
    Form: part(() => import('./forms/Extensions.tsx')),
  },
  defragment: {
    label: 'Defragment etcd',
    icon: 'disk',
    text: 'Gives the space of deleted revisions back to the disk, one member after another, the leader last. Then clears alarms about missing space.',
    Form: part(() => import('./forms/Defragment.tsx')),
  },
} as const satisfies Partial<Record<ChangeKindName, KindOfChange>>

export type ShownKind = keyof typeof changeKinds
export const shownKinds = Object.keys(changeKinds) as ShownKind[]
export const isShownKind = (kind: string): kind is ShownKind => Object.hasOwn(changeKinds, kind)
export const kindOf = (kind: ShownKind): KindOfChange => changeKinds[kind]
