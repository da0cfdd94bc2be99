/** The kinds of changes of a running cluster that the console has a form for. */
import type { ComponentType } from 'react'
import type { ChangeKindName } from '#contract/clusters/changes/changes.ts'
import type { Cluster } from '#contract/clusters/clusters.ts'
import type { HealthTopic } from '#contract/clusters/health.ts'
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
  /** Topics of a cluster's health that the change improves. */
  for: readonly HealthTopic[]
  Form: ComponentType<ChangeFormProps>
}

export const changeKinds = {
  grow: {
    label: 'Add servers',
    icon: 'add',
    text: "Free servers of the cluster's datacenter join the cluster: control planes one after another, then all workers together.",
    for: [],
    Form: part(() => import('./forms/Grow.tsx')),
  },
  replace: {
    label: 'Replace a server',
    icon: 'swap',
    text: 'A free server takes the place and the role of a server, which may be dead.',
    for: ['etcd', 'kubernetes_api', 'nodes'],
    Form: part(() => import('./forms/Replace.tsx')),
  },
  role: {
    label: 'Change roles',
    icon: 'refresh',
    text: 'Workers become control planes, and control planes workers. Talos cannot change the type of a machine in place: each server is drained, reset, and joins again.',
    for: [],
    Form: part(() => import('./forms/Role.tsx')),
  },
  shrink: {
    label: 'Remove servers',
    icon: 'minus',
    text: 'Servers leave the cluster one after another: each is drained, leaves etcd, and is reset. Its data of the cluster is wiped; Talos stays installed.',
    for: [],
    Form: part(() => import('./forms/Shrink.tsx')),
  },
  defragment: {
    label: 'Defragment etcd',
    icon: 'disk',
    text: 'Gives the space of deleted revisions back to the disk, one member after another, the leader last. Then clears alarms about missing space.',
    for: ['database'],
    Form: part(() => import('./forms/Defragment.tsx')),
  },
} as const satisfies Partial<Record<ChangeKindName, KindOfChange>>

export type ShownKind = keyof typeof changeKinds
export const shownKinds = Object.keys(changeKinds) as ShownKind[]
export const isShownKind = (kind: string): kind is ShownKind => Object.hasOwn(changeKinds, kind)
export const kindOf = (kind: ShownKind): KindOfChange => changeKinds[kind]
