/**
 * Brings a server into its cluster or out of it. Level-triggered: each run reads the wanted state,
 * queries the server, does one thing that is safe to repeat, and records the result. Each server is
 * scheduled separately, so servers wait for each other only if the sequence of the operation
 * requires it.
 */
import type { Place } from '../../../db/columns.ts'
import type { Job, Outcome, Reconciler } from '../../../engine/engine.ts'
import { type ClusterParts, memberQueue } from '../parts.ts'
import {
  namesLeaving,
  removeFromEtcd,
  removeFromKubernetes,
  touching,
  whyStay,
} from '../../control-planes/api.ts'
import { followRequests } from './leaving-alone.ts'
import { afterWipe } from '../plan.ts'
import * as store from '../store.ts'
import { idleMs, pollMs, running, waiting } from '../whole/cluster-run.ts'
import { configure } from './configuring.ts'
import { decideBlind, decideServer } from './decide-server.ts'
import { aroundOf, type Seen, type ServerAct } from './acts.ts'
import { lastLines } from './failure-log.ts'
import { adminOf, lookAt, type Looks } from './look.ts'
import { mend, type Mends } from './mending.ts'
import { release, reset } from './releasing.ts'
import { restartForEtcd, startKubelet } from './restarting.ts'
import { fail, type MemberTurn, note, sighting, waitOrFail } from './run.ts'

/**
 * Interval of queries, in ms, while a server joins Kubernetes. These queries only find problems:
 * Kubernetes reports when the server is Ready.
 */
const joiningMs = 3_000

export function memberReconciler(parts: ClusterParts): Reconciler {
  const looks: Looks = { asked: new Map(), followed: new Map(), learners: new Map() }
  const mends: Mends = new Map()

  /** Removes a wiped server from etcd and Kubernetes, then releases it. */
  const takeOut = async (turn: MemberTurn): Promise<Outcome | 'again'> => {
    const { job, state, m } = turn
    const wait = (at: Place, reason: string) => perform(turn, waitOrFail(turn, at, reason), null)
    const inEtcd = await removeFromEtcd(parts, job, state, m)
    if (inEtcd !== null) return wait('forget-member', inEtcd)
    const inKubernetes = await removeFromKubernetes(parts, job, state, m)
    if (inKubernetes !== null) return wait('forget-node', inKubernetes)
    return release(turn)
  }

  const perform = async (
    turn: MemberTurn,
    act: ServerAct,
    seen: Seen | null,
  ): Promise<Outcome | 'again'> => {
    const { job, state, m } = turn
    const change = seen ? sighting(m, seen, job.now()) : {}
    switch (act.act) {
      case 'render':
        await job.effect(`config/${m.node_id}`, () =>
          job.fence.write(async (tx) => {
            await store.hold(tx, m.cluster_id)
            await parts.configurations.renderFirst(tx, m.cluster_id, m.node_id)
          }),
        )
        return 'again'
      case 'apply':
        mends.delete(job.key)
        return configure(turn, seen!, act.reason)
      case 'mend':
        return mend(turn, act, mends, change)
      case 'restart-for-etcd':
        return restartForEtcd(turn, act, change)
      case 'start-kubelet':
        return startKubelet(turn, act, change)
      case 'reset': {
        // In a creation nothing depends on a replaced server. In a ready cluster a server that was
        // removed by force may still be a member of etcd.
        const isAlone =
          m.operation_id !== null || (state.row.wanted === 'ready' && state.row.ready_at !== null)
        const refusal = isAlone
          ? await whyStay(parts, state.members, m, state.row.name, job.signal)
          : null
        if (refusal !== null) return perform(turn, waitOrFail(turn, 'reset', refusal.reason), seen)
        // A server without an operation was removed by force, or leaves with its whole cluster.
        if (m.operation_id === null) return reset(turn, act.graceful)
        const operation = await parts.operations.read(parts.db, m.operation_id)
        const touched = await touching(
          { parts, state, signal: job.signal },
          m,
          () => reset(turn, act.graceful),
          {
            isComing: true,
            ...(operation && { mends: namesLeaving(operation, state.members) }),
          },
        )
        return 'forbidden' in touched
          ? perform(turn, waitOrFail(turn, 'reset', touched.forbidden), seen)
          : touched.sent
      }
      case 'note-wiped':
        await note(turn, afterWipe(m.role), running(), { ...change, wiped_at: new Date(job.now()) })
        return 'again'
      case 'forget':
        return takeOut(turn)
      case 'release':
        return release(turn)
      case 'fail': {
        const credentials = seen?.kind === 'secured' ? await adminOf(turn) : null
        const log =
          credentials === null
            ? {}
            : await lastLines(
                await parts.servers.connection(m.node_id),
                credentials,
                job.now(),
                job.signal,
              )
        return fail(turn, act.at, act.reason, { ...change, ...log }, seen)
      }
      case 'wait':
        await note(turn, act.at, waiting(act.reason), change)
        if (act.at === 'join') return { againMs: joiningMs }
        return {
          againMs:
            seen || m.wiped_at !== null
              ? pollMs(act.at === m.at ? job.elapsedMs(m.at_since) : 0)
              : idleMs,
        }
      default:
        return undefined
    }
  }

  const reconcileOnce = async (job: Job): Promise<Outcome | 'again'> => {
    const [clusterId, nodeId] = job.key.split('/') as [string, string]
    const state = await store.load(parts.db, clusterId, nodeId)
    const m = state?.members.find((row) => row.node_id === nodeId)
    if (!state || !m || m.released_at !== null) return undefined
    const turn = { parts, job, state, m }
    const request = await followRequests(turn)
    if (request !== 'go-on') return request === 'again' ? 'again' : undefined
    const around = aroundOf(state, m, job)
    const blind = decideBlind(
      m,
      around,
      (await parts.configurations.kept.state(parts.db, clusterId, nodeId)) !== null,
    )
    if (blind) return perform(turn, blind, null)
    // The server has joined: from now on the cluster's reconciler watches Kubernetes, and the
    // contact loop of the servers domain watches the machine.
    if (m.wanted === 'joined' && m.at === 'join' && m.node_ready_at !== null) return undefined
    const seen = await lookAt(turn, looks)
    return perform(turn, decideServer(m, around, seen), seen)
  }

  return {
    queue: memberQueue,
    concurrency: 64,
    deadlineMs: 180_000,
    async reconcile(job) {
      for (let turns = 0; turns < 8; turns++) {
        const outcome = await reconcileOnce(job)
        if (outcome !== 'again') return outcome
      }
      return { againMs: 0 }
    },
  }
}
