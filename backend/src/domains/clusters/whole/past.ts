/** What the history keeps of the rows of a cluster and its members. */
import type { ClusterState } from '#contract/history/kinds.ts'
import type { Happened } from '../../../history.ts'
import type { ClusterRow, MemberRow } from '../store.ts'

/** The column that each field of the state is read from. */
const columnOf = {
  name: 'name',
  removed: 'deleted_at',
  status: 'status',
  problem: 'problem',
  locked_out: 'locked_out',
  talos_version: 'talos_version',
  kubernetes_version: 'kubernetes_version',
  endpoint: 'endpoint',
  labels: 'labels',
} as const satisfies Readonly<Record<keyof ClusterState, keyof ClusterRow>>

export type Remembered = (typeof columnOf)[keyof ClusterState] | 'operation_id'

/** The columns that the history keeps and that a change may alter; none if it alters no other. */
export function remembered(change: object): readonly Remembered[] {
  const columns = Object.values(columnOf).filter((column) => column in change)
  return columns.length === 0 ? [] : [...columns, 'operation_id']
}

/** The state that the row records. Fields whose columns are missing are left out. */
export function stateOf(row: Pick<ClusterRow, Remembered>): ClusterState
export function stateOf(row: Partial<Pick<ClusterRow, Remembered>>): Partial<ClusterState>
export function stateOf(row: Partial<Pick<ClusterRow, Remembered>>): Partial<ClusterState> {
  return Object.fromEntries(
    Object.entries(columnOf).flatMap(([field, column]) =>
      column in row
        ? [[field, field === 'removed' ? row.deleted_at !== null : (row[column] ?? null)]]
        : [],
    ),
  )
}

/** Columns whose changes say something of a member's past. */
const columnsOfMember = ['node_ready_at', 'failed_at', 'sends', 'trouble'] as const
export const isRememberedOfMember = (change: object): boolean =>
  columnsOfMember.some((column) => column in change)

const isLater = (at: Date | string | null, than: Date | string | null): boolean =>
  at !== null && (than === null || new Date(at) > new Date(than))

/**
 * What a change of a member's row says of its past. `before` was read as JSON. `operation`: what
 * the change belongs to, if it isn't the server's own operation.
 */
export function memberChanges(
  before: MemberRow,
  after: MemberRow,
  operation: string | null = after.operation_id,
): Happened[] {
  const object = { kind: 'server', id: after.node_id, name: after.name } as const
  const hasJoined = before.node_ready_at === null && after.node_ready_at !== null
  // The log of a boot is written every few seconds. It is kept when the boot is over: with the
  // failure of the server, or when it is tried again.
  const isOver = after.sends !== before.sends || isLater(after.failed_at, before.failed_at)
  const isOfThisBoot = isLater(after.failure_log_at, before.sent_at)
  // The log of a server that has joined is stored only when a change of its cluster fails on it.
  const isOfAChange =
    !isOver && before.node_ready_at !== null && isLater(after.failure_log_at, before.failure_log_at)
  const log = after.failure_log
  return [
    ...(hasJoined
      ? [
          {
            kind: 'server_joined' as const,
            object,
            operation,
            after: { role: after.role },
          },
        ]
      : []),
    ...(((isOver && isOfThisBoot) || isOfAChange) && log !== null
      ? [
          {
            kind: 'server_boot' as const,
            object,
            operation,
            after: isOfAChange
              ? { reason: after.trouble }
              : { reason: after.failure ?? after.trouble, attempt: before.sends },
            log,
          },
        ]
      : []),
  ]
}
