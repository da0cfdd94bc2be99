/** Cancel and retry of an assignment: a cancel reverts unfinished parts, a retry restarts failed ones. */
import { hasEnded } from '#contract/operations.ts'
import type { Tx } from '../../db/db.ts'
import type { Job } from '../../engine/engine.ts'
import { system } from '../../http/caller.ts'
import type { PoolParts, State } from './state.ts'
import { goingSteps, skipped, stepKey, subnetOf } from './steps.ts'
import * as store from './store.ts'
import type { writing } from './write.ts'

export function cancelAndRetry({ db, operations, clusters, subnets }: PoolParts, { lockAll }: ReturnType<typeof writing>) {
  const turnBack = (job: Job, state: State, operationId: string): Promise<boolean> =>
    job.fence.write(async (tx) => {
      const locked = await lockAll(tx, state.cluster.id)
      const operation = await operations.read(tx, operationId)
      if (!locked || !operation || hasEnded(operation)) return false
      const open = operation.steps.filter((s) => s.status !== 'done' && s.status !== 'failed' && s.status !== 'skipped')
      const ids = (place: 'apply' | 'read-back' | 'drain' | 'remove', steps: typeof open) => steps.flatMap((s) => subnetOf(s.key, place) ?? [])
      const coming = new Set([...ids('apply', open), ...ids('read-back', open)])
      // Subnets that this cancel turned around go on to their end.
      const came = new Set(ids('apply', operation.steps))
      const going = new Set([...ids('drain', open), ...ids('remove', open)].filter((id) => !came.has(id)))
      const names = new Map((await subnets.find(tx, [...coming, ...going])).map((s) => [s.id, s.name]))
      for (const id of coming) await takeBack(tx, operationId, locked.rows.get(id), { id, name: names.get(id) ?? id })
      for (const id of going) {
        for (const place of ['drain', 'remove'] as const) await operations.step(tx, operationId, stepKey(place, id), skipped('Cancelled'))
        if (locked.rows.get(id)?.state === 'draining')
          await store.updateAssignment(tx, state.cluster.id, id, { state: 'applying', reason: null, forced: false })
      }
      if (coming.size + going.size === 0) return false
      await clusters.touch(tx, system, state.cluster.id)
      await subnets.tellChanged(tx, system, [...coming, ...going])
      return true
    })

  const takeBack = async (tx: Tx, operationId: string, row: store.AssignmentRow | undefined, subnet: { id: string; name: string }): Promise<void> => {
    for (const place of ['apply', 'read-back'] as const) await operations.step(tx, operationId, stepKey(place, subnet.id), skipped('Cancelled'))
    if (!row || row.state === 'draining') return
    if (row.sent_at === null) {
      await store.removeAssignments(tx, row.cluster_id, [subnet.id])
      return
    }
    await store.updateAssignment(tx, row.cluster_id, subnet.id, { state: 'draining', reason: null, forced: false })
    await operations.addSteps(tx, operationId, goingSteps(subnet))
  }

  const again = (job: Job, state: State, round: number): Promise<boolean> =>
    job.fence.write(async (tx) => {
      const locked = await lockAll(tx, state.cluster.id)
      if (!locked) return false
      await store.updatePool(tx, state.cluster.id, { operation_round: round })
      for (const row of locked.rows.values())
        if (row.state === 'error')
          // The load balancer gets its time to look at the pool once more.
          await store.updateAssignment(tx, row.cluster_id, row.subnet_id, { state: 'applying', reason: null, sent_at: row.sent_at && new Date(job.now()) })
      return true
    })

  /** Answers whether something was changed, so that the state has to be read again. */
  return async (job: Job, state: State): Promise<boolean> => {
    const id = state.pool.operation_id
    const operation = id === null ? undefined : await operations.state(db, id)
    if (id === null || !operation || hasEnded(operation)) return false
    if (operation.round > state.pool.operation_round) return again(job, state, operation.round)
    return operation.cancel_requested_at !== null && turnBack(job, state, id)
  }
}
