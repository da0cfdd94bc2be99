/** Sends a server its configuration, which starts the installation. */
import { TalosError } from '#talos/client/errors.ts'
import type { Job, Outcome } from '../../../engine/engine.ts'
import { system } from '../../../http/caller.ts'
import { patiently, type Seen } from './decide-server.ts'
import { aroundOf, serverFacts, type State } from '../facts.ts'
import { installFailed } from './failure-log.ts'
import type { Tx } from '../../../db/db.ts'
import { unseen } from './look.ts'
import { giveConfiguration, orderDeadlineMs } from './orders.ts'
import { Overtaken } from '../whole/overtaken.ts'
import { running, waiting } from '../whole/progress.ts'
import * as store from '../store.ts'
import { type MemberRun, pollMs } from './run.ts'

export function configuring(run: MemberRun) {
  const { note, fail, unsent, correct, stillWanted, secrets } = run
  const { db, servers, record } = run.parts

  /** A permanent refusal fails the server. Other errors are retried after a look at its state. */
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
    // Once a machine has a complete configuration, only an admin may apply one, even while the maintenance API still answers.
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

  return async (job: Job, state: State, m: store.MemberRow, seen: Seen, why: string | null): Promise<Outcome | 'again'> => {
    const config = await store.newestConfig(db, m.cluster_id, m.node_id)
    const yaml = await secrets.openConfig(db, m.cluster_id, config!.sealed)
    const wasInstalled = seen.kind === 'maintenance' && seen.installation.state !== 'none'
    // Written before sending: from here on the server may have the cluster's secrets, whatever the answer.
    const intent = {
      send_intent_at: new Date(job.now()),
      sent_at: null,
      left_at: null,
      // The server was seen a moment ago; the next call may get no answer.
      seen_at: new Date(job.now()),
      sends: m.sends + 1,
      was_installed: m.was_installed ?? wasInstalled,
    }
    // It accepted a configuration before, so that installation failed.
    const wasLost = m.sent_at === null ? undefined : (tx: Tx) => record(tx, system, installFailed(m, state.row.name))
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
}
