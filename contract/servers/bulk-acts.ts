/** What can be done to many servers at once. */
import { counted } from '../words.ts'

interface Row {
  /** Label of the action, and the beginning of the steps' titles ("Reboot calm-otter-101"). */
  readonly title: string
  /** "reboot of 12 servers" */
  readonly what: string
  /** "was not rebooted" */
  readonly done: string
  /** The number of servers has to be typed. */
  readonly danger: boolean
  /** A server that has changed since the plan is refused: its plan is what the person agreed to. */
  readonly asSeen: boolean
}

export const bulkActs = {
  reboot: { title: 'Reboot', what: 'reboot', done: 'rebooted', danger: false, asSeen: false },
  restart_kubelet: {
    title: 'Restart kubelet',
    what: 'restart of the kubelet',
    done: 'restarted',
    danger: false,
    asSeen: false,
  },
  upgrade: {
    title: 'Upgrade Talos',
    what: 'Talos upgrade',
    done: 'upgraded',
    danger: false,
    asSeen: false,
  },
  commit: {
    title: 'Commit capacity',
    what: 'capacity commitment',
    done: 'committed',
    danger: false,
    asSeen: true,
  },
  reset: {
    title: 'Reset to maintenance',
    what: 'reset',
    done: 'reset',
    danger: true,
    asSeen: true,
  },
  remove: { title: 'Remove', what: 'removal', done: 'removed', danger: true, asSeen: true },
} as const satisfies Record<string, Row>

export type BulkActKind = keyof typeof bulkActs
export const bulkActKinds = Object.keys(bulkActs) as BulkActKind[]

/** "reboot of 12 servers" */
export const bulkWords = (kind: BulkActKind, servers: number): string =>
  `${bulkActs[kind].what} of ${counted(servers, 'server')}`

/** The key of a server's step. */
export const bulkStep = (kind: BulkActKind, serverId: string): string => `act/${kind}/${serverId}`
/** The act of an operation on many servers. */
export const bulkKindOf = ({ steps }: { readonly steps: readonly { readonly key: string }[] }) =>
  steps[0]!.key.split('/')[1] as BulkActKind
/** The name of the server of a step, with which its title ends. */
export const bulkServerName = ({ title }: { readonly title: string }, kind: BulkActKind): string =>
  title.slice(bulkActs[kind].title.length + 1)

interface Left {
  readonly steps: readonly { readonly node_id: string | null; readonly status: string }[]
}
/** The servers on which an ended act on many was not carried out. */
export const leftOver = ({ steps }: Left): string[] =>
  steps.flatMap(({ node_id, status }) =>
    node_id !== null && (status === 'failed' || status === 'skipped') ? [node_id] : [],
  )
