/**
 * Brings a server into its cluster or out of it. Level-triggered: each turn reads the wanted state, looks at the server, does one act that may
 * be repeated, and records what it saw. Each server has its own wake-up, so servers wait for each other only where the order requires it.
 */
import type { Job, Outcome, Reconciler } from '../../../engine/engine.ts'
import { decideBlind, decideServer, patiently, type Seen, type ServerAct, type ServerFacts } from './decide-server.ts'
import { aroundOf, load, serverFacts, type State } from '../facts.ts'
import { lastLines } from './failure-log.ts'
import { forgetting } from '../leave/forgetting.ts'
import { type ClusterParts, memberQueue } from '../parts.ts'
import type { Place } from '../../../db/columns.ts'
import { afterWipe } from '../plan.ts'
import { running, waiting } from '../whole/progress.ts'
import type { Reach } from '../reach.ts'
import type { Rendering } from '../render.ts'
import type { ClusterSecrets } from '../secrets.ts'
import * as store from '../store.ts'
import { configuring } from './configuring.ts'
import { looking } from './looking.ts'
import { mending } from './mending.ts'
import { releasing } from './releasing.ts'
import { idleMs, memberRun, pollMs, sighting } from './run.ts'

/** Interval in ms while joining. Kubernetes reports the result; the server is queried only for problems. */
const joiningMs = 3_000

export function memberReconciler(parts: ClusterParts, secrets: ClusterSecrets, rendering: Rendering, reached: Reach): Reconciler {
  const { db, servers } = parts
  const run = memberRun(parts, secrets, reached)
  const { note, fail, alone } = run
  const lookAt = looking(run)
  const configure = configuring(run)
  const disk = mending(run)
  const { reset, release } = releasing(run)
  const forget = forgetting(reached)

  /** Removes a wiped server from etcd and Kubernetes, then releases it. */
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
        disk.forget(job)
        return configure(job, state, m, seen!, act.reason)
      case 'mend':
        return disk.mend(job, state, m, act)
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
    // Joined: from here on the cluster's reconciler watches Kubernetes, and the servers' contact watches the machine.
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
