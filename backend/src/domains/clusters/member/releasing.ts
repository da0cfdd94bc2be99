/** Takes a server out of its cluster: the reset, and its removal elsewhere. */
import { TalosError } from '#talos/client/errors.ts'
import type { Tx } from '../../../db/db.ts'
import type { Job, Outcome } from '../../../engine/engine.ts'
import { system } from '../../../http/caller.ts'
import { patiently, type ServerFacts } from './decide-server.ts'
import { aroundOf, type State } from '../facts.ts'
import { orderDeadlineMs, orderReset } from './orders.ts'
import { holdMember, Overtaken } from '../whole/overtaken.ts'
import { clusterQueue, memberKey, memberQueue } from '../parts.ts'
import { memberSteps, running, type Shown, waiting } from '../whole/progress.ts'
import { listed } from '../sentences.ts'
import * as store from '../store.ts'
import { type MemberChange, type MemberRun, pollMs } from './run.ts'

export function releasing(run: MemberRun) {
  const { note, fail, unsent, stillWanted, operationOf, steps, alone, secrets } = run
  const { db, engine, servers, record } = run.parts

  const reset = async (job: Job, state: State, m: store.MemberRow, facts: ServerFacts, graceful: boolean): Promise<Outcome | 'again'> => {
    // The server was seen a moment ago; it doesn't answer while it wipes and restarts.
    const intent = { reset_intent_at: new Date(job.now()), reset_sent_at: null, seen_at: new Date(job.now()) }
    if (!(await note(job, state, m, 'reset', running(graceful ? 'Leaving etcd, then wiping' : null), intent))) return 'again'
    const credentials = await secrets.talosAdmin(m.cluster_id)
    const wiped = (await alone.keepsDisks(db, m)) ? { ...m, workload_disks: [] } : m
    let change: MemberChange = { reset_sent_at: new Date(job.now()), resets: m.resets + 1 }
    let shown: Shown = running()
    try {
      const connection = await servers.connection(m.node_id)
      const patient = { signal: job.signal, deadlineMs: orderDeadlineMs }
      const gone = await job.effect(`reset/${m.node_id}`, () =>
        connection.secure(credentials!, (client) => orderReset(client, wiped, graceful, stillWanted(m)), patient),
      )
      if (gone.length > 0) change.trouble = `${listed(gone)} ${gone.length === 1 ? 'was' : 'were'} not there to be wiped`
    } catch (error) {
      if (job.signal.aborted) throw error
      if (error instanceof Overtaken) return unsent(job, m)
      const reason = `${m.name} was told to reset: ${error instanceof Error ? error.message : String(error)}`
      // A lost connection leaves it unknown whether the order arrived.
      const isUnknown = error instanceof TalosError && (error.kind === 'timeout' || error.kind === 'unavailable' || error.kind === 'unreachable')
      const act = patiently(facts, aroundOf(state, m.node_id, job), { act: 'wait', at: 'reset', reason })
      if (!isUnknown && act.act === 'fail') {
        // A refusal means that nothing was started.
        const untold = { ...(await store.member(db, m.cluster_id, m.node_id))!, reset_intent_at: null }
        await fail(job, state, untold, 'reset', act.reason, { reset_intent_at: null })
        return undefined
      }
      shown = waiting(reason)
      change = isUnknown ? {} : { reset_intent_at: null }
    }
    const fresh = (await store.member(db, m.cluster_id, m.node_id))!
    await note(job, state, fresh, shown.status === 'running' ? 'release' : 'reset', shown, change)
    return { againMs: shown.status === 'running' ? pollMs(0) : 2_000 }
  }

  const release = (job: Job, state: State, m: store.MemberRow): Promise<void> =>
    job.fence.write(async (tx: Tx) => {
      // The server or its cluster was removed by force in the meantime.
      if (!(await holdMember(tx, m))) return
      await store.updateMember(tx, m.cluster_id, m.node_id, {
        at: 'done',
        at_since: new Date(job.now()),
        released_at: new Date(job.now()),
        failed_at: null,
        failure: null,
        // Already removed from etcd and Kubernetes.
        ...(m.wiped_at !== null && { secured_at: null, etcd_at: null, node_ready_at: null }),
      })
      const why = m.trouble === null || m.reset_sent_at === null ? {} : { why: `Released from the cluster ${state.row.name}: ${m.trouble}` }
      await servers.release(tx, system, m.node_id, { wiped: m.reset_intent_at !== null, ...why })
      await steps.show(tx, operationOf(state, m), memberSteps(m.node_id, m.role, 'done', running(), false))
      await record(tx, system, {
        action: 'cluster.server_released',
        target: { kind: 'cluster', id: m.cluster_id, name: state.row.name },
        after: { node_id: m.node_id, name: m.name, was_reset: m.reset_intent_at !== null },
      })
      if (m.operation_id !== null) await alone.done(tx, state, m)
      await engine.wake(tx, clusterQueue, m.cluster_id)
      // Wakes the control planes that waited for this one to leave.
      for (const other of state.members.filter((m) => m.role === 'control_plane'))
        if (other.released_at === null && other.node_id !== m.node_id) await engine.wake(tx, memberQueue, memberKey(m.cluster_id, other.node_id))
    })

  return { reset, release }
}
