/** Converts rows to operations, with what blocks them. */
import type { Operation, Step } from '#contract/operations.ts'
import type { Work } from '../../engine/engine.ts'
import type { Found, StepRow } from './store.ts'

const time = (at: Date | null): string | null => at?.toISOString() ?? null

const presentStep = (s: StepRow, trouble: string | undefined): Step => ({
  key: s.key,
  title: s.title,
  node_id: s.node_id,
  status: s.status,
  attempt: s.attempt,
  started_at: time(s.started_at),
  ended_at: time(s.ended_at),
  reason: trouble ?? s.reason,
})

/** The wake-ups that carry out an operation, with their server; none for an ended one. */
export function workOf({ row, steps }: Found, perServer: ReadonlyMap<string, string>): { object: Work; nodeId: string | null }[] {
  const { queue, queue_key: key } = row
  if (queue === null || key === null || row.ended_at !== null) return []
  const each = perServer.get(queue)
  const nodes = each === undefined ? [] : [...new Set(steps.flatMap((s) => s.node_id ?? []))]
  return [{ object: { queue, key }, nodeId: null }, ...nodes.map((nodeId) => ({ object: { queue: each!, key: `${key}/${nodeId}` }, nodeId }))]
}

/** The step that a trouble blocks: the running one, else the next. */
const stopped = (steps: readonly StepRow[]): StepRow | undefined =>
  steps.find((s) => s.status === 'running' || s.status === 'waiting') ?? steps.find((s) => s.status === 'todo')

/** @param troubles reasons of failed runs, from `engine.troubles` */
export function present(found: Found, perServer: ReadonlyMap<string, string>, troubles: ReadonlyMap<string, string> = new Map()): Operation {
  const { row, steps } = found
  const atStep = new Map<string, string>()
  let reason = row.reason
  for (const { object, nodeId } of workOf(found, perServer)) {
    const trouble = troubles.get(`${object.queue} ${object.key}`)
    if (trouble === undefined) continue
    const own = steps.filter((s) => s.node_id === nodeId)
    const step = stopped(own) ?? (nodeId === null ? stopped(steps) : undefined)
    if (step) atStep.set(step.key, trouble)
    if (nodeId === null) reason = trouble
  }
  return {
    id: row.id,
    kind: row.kind,
    target: { kind: row.target_kind, id: row.target_id, name: row.target_name },
    status: row.status,
    reason,
    created_by: row.created_by_name,
    created_at: row.created_at.toISOString(),
    started_at: time(row.started_at),
    ended_at: time(row.ended_at),
    steps: steps.map((s) => presentStep(s, atStep.get(s.key))),
  }
}
