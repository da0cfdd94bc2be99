/** Requests on a running operation: a cancel rolls a creation back, a retry clears failures. */
import { hasEnded } from '#contract/operations.ts'
import type { Job } from '../../../engine/engine.ts'
import type { ClusterRun } from './cluster-run.ts'
import type { State } from '../facts.ts'
import { deletionSteps, leaving } from '../plan.ts'
import * as store from '../store.ts'

/** `too-late`: the cancel can have no effect. */
export type Obeyed = 'changed' | 'nothing' | 'ended' | 'too-late'

export const goesOn = 'A deletion goes on to its end: servers that were wiped can not be brought back'

export function wishes({ parts, at, write, wakeMembers }: ClusterRun): (job: Job, state: State) => Promise<Obeyed> {
  const { db, operations } = parts
  const obey = async (job: Job, state: State): Promise<Obeyed> => {
    const operation = state.row.operation_id === null ? undefined : await operations.state(db, state.row.operation_id)
    const id = state.row.operation_id!
    if (!operation) return 'nothing'
    if (hasEnded(operation)) return 'ended'
    if (operation.round > state.row.operation_round) {
      await write(job, state, async (tx) => {
        await store.update(tx, state.row.id, { operation_round: operation.round })
        for (const m of state.members.filter((row) => row.failed_at !== null && row.released_at === null)) {
          // Observations from before the failure are out of date.
          await store.updateMember(tx, m.cluster_id, m.node_id, {
            failed_at: null,
            failure: null,
            at_since: at(job),
            secured_at: null,
            // It has booted from its disk, so the disk is not half installed.
            ...(m.secured_at !== null && { was_installed: true }),
            sends: 0,
            etcd_at: null,
            node_ready_at: null,
          })
        }
        await wakeMembers(tx, state)
      })
      return 'changed'
    }
    if (operation.cancel_requested_at !== null && state.row.wanted === 'ready' && state.row.ready_at === null) {
      await write(job, state, async (tx) => {
        await store.update(tx, state.row.id, { wanted: 'removed', updated_at: at(job) })
        await store.updateMembers(tx, state.row.id, { wanted: 'released', failed_at: null, failure: null, at: 'reset', at_since: at(job) })
        const leavers = state.members.filter((m) => m.released_at === null)
        await operations.addSteps(tx, id, deletionSteps(leavers, false))
        for (const step of (await operations.read(tx, id))!.steps) {
          const isLeaving = leaving.some((place) => step.key.startsWith(`${place}/`)) || step.key === 'forget'
          if (!isLeaving && step.status !== 'done' && step.status !== 'skipped')
            await operations.step(tx, id, step.key, { status: 'skipped', reason: 'Cancelled' })
        }
        await wakeMembers(tx, state)
      })
      return 'changed'
    }
    if (operation.cancel_requested_at !== null && (await operations.read(db, id))?.kind === 'clusterDelete') {
      return 'too-late'
    }
    return 'nothing'
  }

  return obey
}
