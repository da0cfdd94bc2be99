/**
 * The snapshot that a step of a change takes and waits for. The first has the id of the operation,
 * and each later one an id that follows from it, so that a crash never takes a second one. A failed
 * snapshot is taken again by a retry; one that a user has removed is followed by a new one.
 */
import { createHash } from 'node:crypto'
import type { ChosenStore } from '#contract/clusters/changes/snapshot-first.ts'
import type { Step } from '#contract/operations.ts'
import { Problem } from '#contract/errors.ts'
import type { Db, Tx } from '../../../db/db.ts'
import { system } from '../../../http/caller.ts'
import { removedEarly, type StoredSnapshot } from '../../snapshots/api.ts'
import type { KnownStore } from '../../stores/api.ts'
import { type ChangeTurn, type StepResult, type Waiting, write } from '../frame.ts'

const followMs = 500

const isTaken: Waiting = {
  waiting: 'The snapshot is being taken',
  againMs: followMs,
  isSafe: true,
}

type Of = Pick<ChangeTurn, 'parts' | 'operation'>

/** The id of the operation's snapshot after `removed` others: a UUID of version 8 (RFC 9562). */
function idAfter(operationId: string, removed: number): string {
  if (removed === 0) return operationId
  const hex = createHash('sha256').update(`${operationId}/${removed}`).digest('hex')
  return hex.replace(
    /^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/,
    (_, a: string, b: string, c: string, d: string, e: string) => `${a}-${b}-8${c}-8${d}-${e}`,
  )
}

/** The first snapshot of the operation that nobody has removed. `row`: undefined if not begun. */
async function snapshotOf(
  on: Db | Tx,
  { parts: { snapshots }, operation }: Of,
): Promise<{ id: string; removed: number; row: StoredSnapshot | undefined }> {
  for (let removed = 0; ; removed++) {
    const id = idAfter(operation.id, removed)
    const row = await snapshots.find(on, id)
    const isGone = row ? row.status === 'removing' : await snapshots.wasRemoved(on, id)
    if (!isGone) return { id, removed, row }
  }
}

/** How often the step has begun, with this time. */
const attemptOf = ({ status, attempt }: Step): number => (status === 'todo' ? attempt + 1 : attempt)

/**
 * Takes the snapshot of the step, or says what the one that it has begun waits for. `purpose`: what
 * it is taken for.
 */
export async function takeOrFollow(
  turn: ChangeTurn,
  step: Step,
  {
    storeOf,
    purpose,
  }: {
    readonly storeOf: () => Promise<ChosenStore<Pick<KnownStore, 'id'>>>
    readonly purpose?: string
  },
): Promise<StepResult> {
  const { parts, operation, state } = turn
  const { id, removed, row } = await snapshotOf(parts.db, turn)
  if (row) return follow(turn, step, row)
  // Each attempt may lose one.
  if (removed >= attemptOf(step)) return { failed: removedEarly }
  const chosen = await storeOf()
  if (!chosen.ok) return { failed: chosen.reason }
  try {
    await write(turn, (tx) =>
      parts.snapshots.begin(tx, system, {
        id,
        cluster: { id: state.row.id, name: state.row.name },
        storeId: chosen.store.id,
        ...(purpose !== undefined && { purpose }),
        createdBy: operation.created_by,
      }),
    )
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    return { failed: error.message }
  }
  return isTaken
}

async function follow(turn: ChangeTurn, step: Step, row: StoredSnapshot): Promise<StepResult> {
  const { parts } = turn
  if (row.status === 'ready') return 'done'
  if (row.status === 'taking') return { ...isTaken, waiting: row.reason ?? isTaken.waiting }
  // An earlier failure is the one that a user has just retried.
  if (step.started_at !== null && row.updated_at.getTime() >= Date.parse(step.started_at))
    return { failed: row.reason ?? 'The snapshot failed' }
  await write(turn, (tx) => parts.snapshots.again(tx, row.id))
  return { ...isTaken, waiting: 'The snapshot is tried again' }
}

/** Called when the change ends: a cancel also ends a snapshot that isn't ready. */
export async function endSnapshot(
  tx: Tx,
  of: Of,
  how: 'done' | 'failed' | 'cancelled',
): Promise<void> {
  if (how === 'cancelled') await of.parts.snapshots.cancel(tx, (await snapshotOf(tx, of)).id)
}
