/** What the history keeps of operations. */
import type { Happened } from '../../history.ts'
import type { OperationRow, StepRow } from './store.ts'

const of = (
  { id, kind, target_kind, target_id, target_name }: OperationRow,
  entry: Pick<Happened, 'kind'> & { readonly after: object },
): Happened[] =>
  // The history is that of servers, clusters and datacenters: there a shared patch is a patch of
  // each server.
  target_id === null || target_kind === 'shared_patch'
    ? []
    : [
        {
          ...entry,
          // An addition of servers is named by their addresses, not by its datacenter.
          object: {
            kind: target_kind,
            id: target_id,
            ...(target_kind !== 'datacenter' && { name: target_name }),
          },
          operation: id,
          after: {
            operation: kind,
            ...(target_kind === 'datacenter' && { what: target_name }),
            ...entry.after,
          },
        },
      ]

export const requested = (row: OperationRow): Happened[] =>
  of(row, { kind: 'operation_requested', after: {} })

/** Whether a change ends the operation, or tries it again. */
export function ends(row: OperationRow, change: { readonly [K in keyof OperationRow]?: unknown }) {
  const { status, round, reason } = row
  if (change.round !== undefined && round > 1)
    return of(row, { kind: 'operation_retried', after: { round } })
  return change.ended_at === undefined || row.ended_at === null
    ? []
    : of(row, {
        kind: 'operation_ended',
        after: { status, round, ...(reason !== null && { reason }) },
      })
}

const isOver = ({ key, status, attempt }: StepRow, before: readonly StepRow[]): boolean =>
  (status === 'failed' || (status === 'done' && attempt > 1)) &&
  before.find((step) => step.key === key)?.status !== status

/** Whether a change of steps ends attempts that `attempts` tells of. */
export const haveEnded = (after: readonly StepRow[], before: readonly StepRow[]): boolean =>
  after.some((step) => isOver(step, before))

/**
 * The attempts of steps that end by a change: those that failed, and those that succeeded after
 * others had failed.
 */
export const attempts = (
  row: OperationRow,
  after: readonly StepRow[],
  before: readonly StepRow[],
): Happened[] =>
  after
    .filter((step) => isOver(step, before))
    .flatMap(({ title, status, attempt, reason, node_id }) =>
      of(row, {
        kind: 'operation_attempt',
        after: {
          step: title,
          attempt,
          outcome: status,
          ...(reason !== null && { reason }),
          ...(node_id !== null && { server: node_id }),
        },
      }),
    )
