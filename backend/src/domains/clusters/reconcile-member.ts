/**
 * Brings one server into its cluster, or out of it. Level-triggered: each turn reads what is wanted, looks at the server, does one act that may
 * be repeated, and writes down what it saw. Servers have wake-ups of their own, so that none waits for another but where the order says so.
 */
import type { Updateable } from 'kysely'
import type { TalosClient } from '#talos/client/client.ts'
import { TalosError } from '#talos/client/errors.ts'
import type { Tables } from '../../db/tables.ts'
import type { Tx } from '../../db/db.ts'
import type { Job, Outcome, Reconciler } from '../../engine/engine.ts'
import { system } from '../../http/caller.ts'
import { decideBlind, decideServer, hasStarted, patiently, type Seen, type ServerAct, type ServerFacts } from './decide-server.ts'
import { aroundOf, load, serverFacts, type State } from './facts.ts'
import { installFailed, lastLines, serverFailed, troubleOf } from './failure-log.ts'
import { forgetting } from './forgetting.ts'
import { leavingAlone } from './leaving-alone.ts'
import { look, unseen } from './look.ts'
import { type Mend, mendAgainMs, mendEffect, mostMends, orderMend } from './mending.ts'
import { giveConfiguration, orderDeadlineMs, orderReset } from './orders.ts'
import { demandStillWanted, holdMember, Overtaken } from './overtaken.ts'
import { clusterQueue, type ClusterParts, memberKey, memberQueue } from './parts.ts'
import { afterWipe, type Place } from './plan.ts'
import { done, failed, memberSteps, progress, running, type Shown, waiting } from './progress.ts'
import type { Reach } from './reach.ts'
import type { Rendering } from './render.ts'
import type { ClusterSecrets } from './secrets.ts'
import { listed } from './sentences.ts'
import * as store from './store.ts'

type Told = Extract<Seen, { kind: 'secured' }>
type MemberChange = Updateable<Tables['cluster_server']>

/** A look at a server is written down at most this often while nothing changes. */
const noteSeenEveryMs = 5_000
/** Something else may have to happen first; it wakes us, this is for what was missed. */
const idleMs = 30_000

/** Kubernetes says when a server has joined; the server itself is asked only for what keeps it. */
const joiningMs = 3_000
/** An installation that takes longer is asked what keeps it; after one that failed, from the beginning. */
const troubleAfterMs = 5_000
/** And how often: what is known to fail is asked seldom, because each question is lines in the log that is read. A new stage is asked at once. */
const troubleEveryMs = { known: 15_000, unknown: 4_000 }

/** Columns that nobody else waits for: what a look showed. */
const told: ReadonlySet<string> = new Set(['seen_at', 'stage', 'left_at', 'trouble', 'failure_log', 'failure_log_at'])

/** How soon to look again: often while things move, seldom where a server has been busy for long. */
export const pollMs = (sinceMs: number): number =>
  sinceMs < 5_000 ? 150 : sinceMs < 30_000 ? 500 : sinceMs < 120_000 ? 2_000 : sinceMs < 3_600_000 ? 5_000 : idleMs

export function memberReconciler(parts: ClusterParts, secrets: ClusterSecrets, rendering: Rendering, reached: Reach): Reconciler {
  const { db, engine, servers, operations, recorder } = parts
  const alone = leavingAlone(parts, reached)
  const forget = forgetting(reached)
  const steps = progress(parts.operations)
  /** By wake-up: when a server was asked last what fails, in which attempt and stage. Forgotten with the program, which asks again then. */
  const asked = new Map<
    string,
    { readonly sends: number; readonly stage: string; readonly at: number; readonly told: Pick<Told, 'trouble' | 'isInstallSkipped'> }
  >()
  /** By wake-up: how often and when the disk of a server was mended that doesn't show it yet. */
  const mended = new Map<string, { readonly times: number; readonly at: number }>()

  /**
   * Writes what is known of the server now, and moves its steps. The cluster is woken where somebody else may wait for what changed. Answers
   * false, and writes nothing, where people have decided otherwise about the server since it was read.
   */
  const note = (
    job: Job,
    state: State,
    m: store.MemberRow,
    at: Place,
    shown: Shown,
    change: MemberChange = {},
    also?: (tx: Tx) => Promise<void>,
  ): Promise<boolean> => {
    const moved = at !== m.at
    const columns: MemberChange = { ...change, ...(moved && { at, at_since: new Date(job.now()) }) }
    return job.fence.write(async (tx) => {
      const now = await holdMember(tx, m)
      if (!now) return false
      if (Object.keys(columns).length > 0) await store.updateMember(tx, m.cluster_id, m.node_id, columns)
      const isJoined = at === 'join' && now.node_ready_at !== null
      const wasInstalled = change.was_installed ?? m.was_installed ?? false
      await steps.show(tx, operationOf(state, m), memberSteps(m.node_id, m.role, at, isJoined ? done : shown, wasInstalled))
      await also?.(tx)
      if (Object.keys(columns).some((column) => !told.has(column))) await engine.wake(tx, clusterQueue, m.cluster_id)
      return true
    })
  }

  /** Whose steps show where it is. */
  const operationOf = (state: State, m: store.MemberRow) => m.operation_id ?? state.row.operation_id

  /** What a look showed, as columns; nothing where it says nothing new. */
  const sighting = (m: store.MemberRow, seen: Seen, now: number): MemberChange => {
    const change: MemberChange = {}
    // Silence is no evidence: an answer may get lost.
    if (m.sent_at !== null && m.left_at === null && (seen.kind === 'secured' || seen.kind === 'foreign')) change.left_at = new Date(now)
    if (seen.kind !== 'maintenance' && seen.kind !== 'secured') return change
    if (m.stage !== seen.stage || m.seen_at === null || now - m.seen_at.getTime() >= noteSeenEveryMs) {
      change.stage = seen.stage
      change.seen_at = new Date(now)
    }
    if (seen.kind === 'secured') Object.assign(change, troubleOf(m, seen, now))
    if (m.wanted === 'joined' && seen.kind === 'secured' && m.secured_at === null && hasStarted(m.role, seen)) change.secured_at = new Date(now)
    const etcd = seen.kind === 'secured' ? seen.services['etcd'] : undefined
    if (m.wanted === 'joined' && m.role === 'control_plane' && m.etcd_at === null && etcd?.state === 'Running' && etcd.healthy) change.etcd_at = new Date(now)
    return change
  }

  const lookAt = async (job: Job, m: store.MemberRow): Promise<Seen> => {
    try {
      // What was said before a restart is gone with it, and between a failure and the restart lie seconds.
      const isSlow = m.at === 'boot' || (m.at === 'install' && (m.sends > 1 || job.elapsedMs(m.at_since) > troubleAfterMs))
      const isJoining = m.wanted === 'joined' && m.secured_at === null
      const before = asked.get(job.key)
      const last = before?.sends === m.sends ? before : undefined
      const askTrouble = (stage: string) => {
        if (!isJoining) return false
        if (last?.stage !== stage) return isSlow || stage === 'rebooting'
        return job.now() - last.at >= (last.told.trouble === null ? troubleEveryMs.unknown : troubleEveryMs.known)
      }
      const expected = { expectSecured: m.send_intent_at !== null, askTrouble, askInstallation: isJoining }
      const seen = await look(await servers.connection(m.node_id), await secrets.talosAdmin(m.cluster_id), expected, job.signal)
      if (!isJoining) asked.delete(job.key)
      if (seen.kind !== 'secured' || !isJoining) return seen
      if (!seen.askedTrouble) return last?.stage === seen.stage ? { ...seen, ...last.told } : seen
      const { trouble, isInstallSkipped } = seen
      asked.set(job.key, { sends: m.sends, stage: seen.stage, at: job.now(), told: { trouble, isInstallSkipped } })
      return seen
    } catch (error) {
      return unseen(error, job.signal)
    }
  }

  const apply = async (job: Job, state: State, m: store.MemberRow, seen: Seen, why: string | null): Promise<Outcome | 'again'> => {
    const config = await store.newestConfig(db, m.cluster_id, m.node_id)
    const yaml = await secrets.openConfig(db, m.cluster_id, config!.sealed)
    const wasInstalled = seen.kind === 'maintenance' && seen.installation.state !== 'none'
    // Written before anything is sent: from here on the server may hold the cluster's secrets, whatever we hear.
    const intent = {
      send_intent_at: new Date(job.now()),
      sent_at: null,
      left_at: null,
      // It was looked at a moment ago; what follows may never be answered.
      seen_at: new Date(job.now()),
      sends: m.sends + 1,
      was_installed: m.was_installed ?? wasInstalled,
    }
    // Accepted before, and here it is again: that installation came to nothing.
    const wasLost = m.sent_at === null ? undefined : (tx: Tx) => recorder.record(tx, system, installFailed(m, state.row.name))
    if (!(await note(job, state, m, 'apply', running(why), intent, wasLost))) return 'again'
    try {
      const connection = await servers.connection(m.node_id)
      const problem = await job.effect(`apply/${m.node_id}`, () =>
        connection.maintenance((client) => giveConfiguration(client, m, yaml, wasInstalled, stillWanted(m)), {
          signal: job.signal,
          deadlineMs: orderDeadlineMs,
        }),
      )
      if (problem !== null) {
        await unsent(job, m)
        await fail(job, state, (await store.member(db, m.cluster_id, m.node_id))!, 'apply', problem)
        return undefined
      }
    } catch (error) {
      if (error instanceof Overtaken) return unsent(job, m)
      await correct(job, m, { send_intent_at: new Date(job.now()) })
      return refusedApply(job, state, m, error)
    }
    const fresh = (await store.member(db, m.cluster_id, m.node_id))!
    await note(job, state, fresh, 'install', running(why), { sent_at: new Date(job.now()), stage: 'maintenance', seen_at: new Date(job.now()) })
    return { againMs: pollMs(0) }
  }

  /** A half-installed disk is wiped, or the server restarted that runs without one; the next look decides what is left to do. */
  const mend = async (job: Job, state: State, m: store.MemberRow, act: Mend): Promise<Outcome | 'again'> => {
    const before = mended.get(job.key)
    if (before !== undefined && job.now() - before.at < mendAgainMs) {
      await note(job, state, m, act.at, waiting(act.reason))
      return { againMs: 1_000 }
    }
    if ((before?.times ?? 0) >= mostMends) {
      mended.delete(job.key)
      await fail(
        job,
        state,
        m,
        act.at,
        `${act.reason}. That was tried ${mostMends} times. Wipe the disk with talosctl wipe disk, restart the server, then retry`,
      )
      return undefined
    }
    if (!(await note(job, state, m, act.at, running(act.reason), { was_installed: false }))) return 'again'
    try {
      const connection = await servers.connection(m.node_id)
      const order = (client: TalosClient) => orderMend(client, m, act.how, stillWanted(m))
      const options = { signal: job.signal, deadlineMs: orderDeadlineMs }
      const credentials = await secrets.talosAdmin(m.cluster_id)
      const problem = await job.effect(mendEffect(m, act.how), () =>
        act.how === 'wipe' ? connection.maintenance(order, options) : connection.secure(credentials!, order, options),
      )
      mended.set(job.key, { times: (before?.times ?? 0) + 1, at: job.now() })
      if (problem === null) return { againMs: 500 }
      await fail(job, state, (await store.member(db, m.cluster_id, m.node_id))!, act.at, problem)
      return undefined
    } catch (error) {
      if (error instanceof Overtaken) return 'again'
      const seen = unseen(error, job.signal)
      const isRefused = error instanceof TalosError && ['invalid_argument', 'unimplemented', 'failed_precondition', 'permission_denied'].includes(error.kind)
      const fresh = (await store.member(db, m.cluster_id, m.node_id))!
      const reason = `${act.reason}, which did not work: ${seen.reason}`
      if (isRefused || seen.kind === 'stranger') {
        await fail(job, state, fresh, act.at, reason)
        return undefined
      }
      await note(job, state, fresh, act.at, waiting(reason))
      return { againMs: 2_000 }
    }
  }

  const stillWanted = (m: store.MemberRow) => () => demandStillWanted(db, operations, m)

  /** Facts about what was sent, which hold whatever people have decided meanwhile. */
  const correct = (job: Job, m: store.MemberRow, change: MemberChange): Promise<unknown> =>
    job.fence.write(async (tx) => {
      await store.hold(tx, m.cluster_id)
      return store.updateMember(tx, m.cluster_id, m.node_id, change)
    })

  /** Nothing was sent after all: what was written down before it is taken back. */
  const unsent = async (job: Job, m: store.MemberRow): Promise<'again'> => {
    const { send_intent_at, sent_at, left_at, sends, reset_intent_at, reset_sent_at } = m
    await correct(job, m, { send_intent_at, sent_at, left_at, sends, reset_intent_at, reset_sent_at })
    return 'again'
  }

  /** An answer that won't change by asking again fails the server; anything else is tried again, and its state is looked at first. */
  const refusedApply = async (job: Job, state: State, m: store.MemberRow, error: unknown): Promise<Outcome> => {
    const fresh = (await store.member(db, m.cluster_id, m.node_id))!
    if (error instanceof TalosError && (error.kind === 'invalid_argument' || error.kind === 'unimplemented')) {
      await fail(job, state, fresh, 'apply', `${m.name} refused its configuration: ${error.message}`)
      return undefined
    }
    const seen = unseen(error, job.signal)
    if (seen.kind === 'stranger') {
      await fail(job, state, fresh, 'apply', seen.reason)
      return undefined
    }
    // From the moment on in which it has a whole configuration only an admin may give it one, also while its API is still that of maintenance.
    const has = error instanceof TalosError && error.kind === 'permission_denied'
    const reason = has ? `${m.name} has a configuration already and is about to take it` : `${m.name} did not take its configuration: ${seen.reason}`
    const act = patiently(serverFacts(fresh, true), aroundOf(state, m.node_id, job), { act: 'wait', at: 'apply', reason })
    if (act.act === 'fail') {
      await fail(job, state, fresh, 'apply', act.reason)
      return undefined
    }
    await note(job, state, fresh, 'apply', waiting(reason))
    return { againMs: Math.max(1_000, pollMs(job.elapsedMs(fresh.at_since))) }
  }

  const fail = (job: Job, state: State, m: store.MemberRow, at: Place, reason: string, change: MemberChange = {}, seen: Seen | null = null) => {
    // It was told nothing, or is seen to run: its cluster has it as before.
    const isUntouched = m.wiped_at === null && (m.reset_intent_at === null || seen?.kind === 'secured')
    const also = async (tx: Tx) => {
      await recorder.record(tx, system, serverFailed(m, state.row.name, reason))
      if (m.operation_id !== null && m.wanted === 'released') await alone.failed(tx, job, m, reason, isUntouched)
    }
    return note(job, state, m, at, failed(reason), { ...change, failed_at: new Date(job.now()), failure: reason }, also)
  }

  const reset = async (job: Job, state: State, m: store.MemberRow, facts: ServerFacts, graceful: boolean): Promise<Outcome | 'again'> => {
    // It was looked at a moment ago; while it wipes and restarts nobody sees it.
    const intent = { reset_intent_at: new Date(job.now()), reset_sent_at: null, seen_at: new Date(job.now()) }
    if (!(await note(job, state, m, 'reset', running(graceful ? 'Leaving etcd, then wiping' : null), intent))) return 'again'
    const credentials = await secrets.talosAdmin(m.cluster_id)
    let change: MemberChange = { reset_sent_at: new Date(job.now()), resets: m.resets + 1 }
    let shown: Shown = running()
    try {
      const connection = await servers.connection(m.node_id)
      const patient = { signal: job.signal, deadlineMs: orderDeadlineMs }
      const gone = await job.effect(`reset/${m.node_id}`, () =>
        connection.secure(credentials!, (client) => orderReset(client, m, graceful, stillWanted(m)), patient),
      )
      if (gone.length > 0) change.trouble = `${listed(gone)} ${gone.length === 1 ? 'was' : 'were'} not there to be wiped`
    } catch (error) {
      if (job.signal.aborted) throw error
      if (error instanceof Overtaken) return unsent(job, m)
      const reason = `${m.name} was told to reset: ${error instanceof Error ? error.message : String(error)}`
      // Whether it was heard is unknown where the connection was lost.
      const isUnknown = error instanceof TalosError && (error.kind === 'timeout' || error.kind === 'unavailable' || error.kind === 'unreachable')
      const act = patiently(facts, aroundOf(state, m.node_id, job), { act: 'wait', at: 'reset', reason })
      if (!isUnknown && act.act === 'fail') {
        // It was refused, so nothing was begun.
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
      // Removed by force in the meantime, or its cluster was.
      if (!(await holdMember(tx, m))) return
      await store.updateMember(tx, m.cluster_id, m.node_id, {
        at: 'done',
        at_since: new Date(job.now()),
        released_at: new Date(job.now()),
        failed_at: null,
        failure: null,
        // Taken out of both already.
        ...(m.wiped_at !== null && { secured_at: null, etcd_at: null, node_ready_at: null }),
      })
      const why = m.trouble === null || m.reset_sent_at === null ? {} : { why: `Released from the cluster ${state.row.name}: ${m.trouble}` }
      await servers.release(tx, system, m.node_id, { wiped: m.reset_intent_at !== null, ...why })
      await steps.show(tx, operationOf(state, m), memberSteps(m.node_id, m.role, 'done', running(), false))
      await recorder.record(tx, system, {
        action: 'cluster.server_released',
        target: { kind: 'cluster', id: m.cluster_id, name: state.row.name },
        after: { node_id: m.node_id, name: m.name, was_reset: m.reset_intent_at !== null },
      })
      if (m.operation_id !== null) await alone.done(tx, state, m)
      await engine.wake(tx, clusterQueue, m.cluster_id)
      // Whoever waited for this one to leave may go now.
      for (const other of state.members.filter((m) => m.role === 'control_plane'))
        if (other.released_at === null && other.node_id !== m.node_id) await engine.wake(tx, memberQueue, memberKey(m.cluster_id, other.node_id))
    })

  /** Out of etcd and Kubernetes, one after the other; then it is nobody's. */
  const takeOut = async (job: Job, state: State, m: store.MemberRow, facts: ServerFacts): Promise<Outcome | 'again'> => {
    const wait = (at: Place, reason: string) =>
      perform(job, state, m, facts, patiently(facts, aroundOf(state, m.node_id, job), { act: 'wait', at, reason }), null)
    const inEtcd = await forget.fromEtcd(job, state, m)
    if (inEtcd !== null) return wait('forget-member', inEtcd)
    const inKubernetes = await forget.fromKubernetes(job, state, m)
    if (inKubernetes !== null) return wait('forget-node', inKubernetes)
    await release(job, state, m)
    return undefined
  }

  const perform = async (job: Job, state: State, m: store.MemberRow, facts: ServerFacts, act: ServerAct, seen: Seen | null): Promise<Outcome | 'again'> => {
    const change = seen ? sighting(m, seen, job.now()) : {}
    const since = act.at === m.at ? job.elapsedMs(facts.atSince) : 0
    switch (act.act) {
      case 'render':
        await rendering.renderOnce(job, state, m.node_id)
        return 'again'
      case 'apply':
        mended.delete(job.key)
        return apply(job, state, m, seen!, act.reason)
      case 'mend':
        return mend(job, state, m, act)
      case 'reset': {
        const refusal = m.operation_id === null ? null : await alone.refusal(job, state, m)
        if (refusal === null) return reset(job, state, m, facts, act.graceful)
        return perform(job, state, m, facts, patiently(facts, aroundOf(state, m.node_id, job), { act: 'wait', at: 'reset', reason: refusal }), seen)
      }
      case 'note-wiped':
        await note(job, state, m, afterWipe(m.role), running(), { ...change, wiped_at: new Date(job.now()) })
        return 'again'
      case 'forget':
        return takeOut(job, state, m, facts)
      case 'release':
        await release(job, state, m)
        return undefined
      case 'fail': {
        const credentials = seen?.kind === 'secured' ? await secrets.talosAdmin(m.cluster_id) : null
        const said = credentials === null ? {} : await lastLines(await servers.connection(m.node_id), credentials, job.now(), job.signal)
        await fail(job, state, m, act.at, act.reason, { ...change, ...said }, seen)
        return undefined
      }
      case 'wait':
        await note(job, state, m, act.at, waiting(act.reason), change)
        return { againMs: act.at === 'join' ? joiningMs : seen || facts.wiped ? pollMs(since) : idleMs }
      default:
        return undefined
    }
  }

  const turn = async (job: Job): Promise<Outcome | 'again'> => {
    const [clusterId, nodeId] = job.key.split('/') as [string, string]
    const state = await load(db, clusterId, nodeId)
    const m = state?.members.find((row) => row.node_id === nodeId)
    if (!state || !m || m.released_at !== null) return undefined
    const wish = await alone.obey(job, m)
    if (wish !== 'go-on') return wish === 'changed' ? 'again' : undefined
    const facts = serverFacts(m, (await store.newestConfig(db, clusterId, nodeId)) !== undefined)
    const around = aroundOf(state, nodeId, job)
    const blind = decideBlind(facts, around)
    if (blind) return perform(job, state, m, facts, blind, null)
    // It joined: from here on the cluster as a whole watches Kubernetes, and the servers' own contact watches the machine.
    if (m.wanted === 'joined' && m.at === 'join' && m.node_ready_at !== null) return undefined
    const seen = await lookAt(job, m)
    return perform(job, state, m, facts, decideServer(facts, around, seen), seen)
  }

  return {
    queue: memberQueue,
    concurrency: 64,
    deadlineMs: 180_000,
    async reconcile(job) {
      for (let turns = 0; turns < 8; turns++) {
        const outcome = await turn(job)
        if (outcome !== 'again') return outcome
      }
      return { againMs: 0 }
    },
  }
}
