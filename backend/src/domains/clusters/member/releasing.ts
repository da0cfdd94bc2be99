/** Takes a server out of its cluster: resets it, and removes it from etcd and Kubernetes. */
import type { TalosClient } from '#talos/client/client.ts'
import { TalosError } from '#talos/client/errors.ts'
import { readDisks } from '#talos/client/inventory.ts'
import { resources } from '#talos/client/resources.ts'
import { isDatabaseAway } from '../../../causes/causes.ts'
import type { Outcome } from '../../../engine/engine.ts'
import { system } from '../../../http/caller.ts'
import { clusterQueue, memberKey, memberQueue } from '../parts.ts'
import { toWipe } from '../disks.ts'
import { finishAlone, keepsDisks } from './leaving-alone.ts'
import { listed } from '../../../sentences.ts'
import { adminOf } from './look.ts'
import * as store from '../store.ts'
import {
  holdMember,
  memberSteps,
  Overtaken,
  pollMs,
  running,
  type Shown,
  showSteps,
  waiting,
} from '../whole/cluster-run.ts'
import {
  fail,
  type MemberChange,
  type MemberTurn,
  note,
  operationOf,
  orderDeadlineMs,
  reread,
  demandStillWanted,
  unsent,
  waitOrFail,
} from './run.ts'

/** Current paths of the workload disks to wipe, and the missing ones. */
async function workloadDisks(
  client: TalosClient,
  m: store.MemberRow,
): Promise<{ wipe: string[]; gone: string[] }> {
  if (m.workload_disks.length === 0) return { wipe: [], gone: [] }
  const [disks, system] = await Promise.all([
    readDisks(client),
    client.get(resources.systemDisk, 'system-disk'),
  ])
  return toWipe(m, disks, system?.spec.devPath)
}

/**
 * Sends the reset and returns missing workload disks. Talos stays on its disk, so the server comes
 * back in maintenance without other boot media. @throws TalosError; Overtaken
 */
async function orderReset(
  client: TalosClient,
  turn: MemberTurn,
  wiped: store.MemberRow,
  graceful: boolean,
): Promise<string[]> {
  const { wipe, gone } = await workloadDisks(client, wiped)
  const disks =
    wipe.length > 0
      ? ({ userDisks: wipe, mode: 'all' } as const)
      : ({ mode: 'system_disk' } as const)
  await demandStillWanted(turn)
  await client.reset(
    { graceful, reboot: true, systemPartitions: ['STATE', 'EPHEMERAL'], ...disks },
    { deadlineMs: orderDeadlineMs },
  )
  return gone
}

export async function reset(turn: MemberTurn, graceful: boolean): Promise<Outcome | 'again'> {
  const { parts, job, m } = turn
  // Sets `seen_at`, because the server has just been seen and won't answer while it wipes and
  // restarts.
  const intent = {
    reset_intent_at: new Date(job.now()),
    reset_sent_at: null,
    seen_at: new Date(job.now()),
  }
  if (!(await note(turn, 'reset', running(graceful ? 'Leaving etcd, then wiping' : null), intent)))
    return 'again'
  const credentials = await adminOf(turn)
  const wiped = (await keepsDisks(parts, parts.db, m)) ? { ...m, workload_disks: [] } : m
  let change: MemberChange = { reset_sent_at: new Date(job.now()), resets: m.resets + 1 }
  let shown: Shown = running()
  try {
    const connection = await parts.servers.connection(m.node_id)
    const options = { signal: job.signal, deadlineMs: orderDeadlineMs }
    const gone = await job.effect(`reset/${m.node_id}`, () =>
      connection.secure(
        credentials!,
        (client) => orderReset(client, turn, wiped, graceful),
        options,
      ),
    )
    if (gone.length > 0)
      change.trouble = `${listed(gone)} ${gone.length === 1 ? 'was' : 'were'} missing and could not be wiped`
  } catch (error) {
    // A lost database says nothing about the server.
    if (job.signal.aborted || isDatabaseAway(error)) throw error
    if (error instanceof Overtaken) return unsent(turn)
    const reason = `The reset of ${m.name} is not confirmed: ${error instanceof Error ? error.message : String(error)}`
    // After a lost connection it is unknown whether the server received the reset.
    const isUnknown =
      error instanceof TalosError &&
      (error.kind === 'timeout' || error.kind === 'unavailable' || error.kind === 'unreachable')
    const act = waitOrFail(turn, 'reset', reason)
    if (!isUnknown && act.act === 'fail') {
      // A refusal means that nothing was started.
      const fresh = await reread(turn)
      return fail({ ...fresh, m: { ...fresh.m, reset_intent_at: null } }, 'reset', act.reason, {
        reset_intent_at: null,
      })
    }
    shown = waiting(reason)
    change = isUnknown ? {} : { reset_intent_at: null }
  }
  await note(await reread(turn), shown.status === 'running' ? 'release' : 'reset', shown, change)
  return { againMs: shown.status === 'running' ? pollMs(0) : 2_000 }
}

export const release = (turn: MemberTurn): Promise<void> =>
  turn.job.fence.write(async (tx) => {
    const { parts, job, state, m } = turn
    // The server or its cluster was removed by force in the meantime.
    if (!(await holdMember(tx, m))) return
    await store.updateMember(tx, m.cluster_id, m.node_id, {
      at: 'done',
      at_since: new Date(job.now()),
      released_at: new Date(job.now()),
      failed_at: null,
      failure: null,
      // A wiped server was removed from etcd and Kubernetes before its release, so nothing is left
      // to remove there.
      ...(m.wiped_at !== null && { secured_at: null, etcd_at: null, node_ready_at: null }),
    })
    const why =
      m.trouble === null || m.reset_sent_at === null
        ? {}
        : { why: `Released from the cluster ${state.row.name}: ${m.trouble}` }
    await parts.servers.release(tx, system, m.node_id, {
      wiped: m.reset_intent_at !== null,
      ...why,
    })
    await showSteps(
      parts.operations,
      tx,
      operationOf(turn),
      memberSteps(m.node_id, m.role, 'done', running(), false),
    )
    await parts.record(tx, system, {
      action: 'cluster.server_released',
      target: { kind: 'cluster', id: m.cluster_id, name: state.row.name },
      after: { node_id: m.node_id, name: m.name, was_reset: m.reset_intent_at !== null },
    })
    if (m.operation_id !== null) await finishAlone(turn, tx)
    await parts.engine.wake(tx, clusterQueue, m.cluster_id)
    // Wakes the control planes that waited for this one to leave.
    for (const other of state.members.filter((one) => one.role === 'control_plane'))
      if (other.released_at === null && other.node_id !== m.node_id)
        await parts.engine.wake(tx, memberQueue, memberKey(m.cluster_id, other.node_id))
  })
