/** The progress of a snapshot that a step of a change waits for. */
import type { Step } from '#contract/operations.ts'
import { removedEarly } from '../../../snapshots/api.ts'
import { type ChangeTurn, type StepResult, type Waiting, write } from '../frame.ts'

const followMs = 500

export const isTaken: Waiting = {
  waiting: 'The snapshot is being taken',
  againMs: followMs,
  isSafe: true,
}

/** What the step waits for; a failed snapshot is taken again after a retry. */
export async function followSnapshot(
  turn: ChangeTurn,
  step: Pick<Step, 'started_at'>,
): Promise<StepResult> {
  const { parts, operation } = turn
  const row = await parts.snapshots.find(parts.db, operation.id)
  if (!row || row.status === 'removing') return { failed: removedEarly }
  if (row.status === 'ready') return 'done'
  if (row.status === 'taking') return { ...isTaken, waiting: row.reason ?? isTaken.waiting }
  // An earlier failure is the one that a user has just retried.
  if (step.started_at !== null && row.updated_at.getTime() >= Date.parse(step.started_at))
    return { failed: row.reason ?? 'The snapshot failed' }
  await write(turn, (tx) => parts.snapshots.again(tx, operation.id))
  return { ...isTaken, waiting: 'The snapshot is tried again' }
}
