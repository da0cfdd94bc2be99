/** Sends a server its configuration, which starts the installation. */
import type { TalosClient } from '#talos/client/client.ts'
import { TalosError } from '#talos/client/errors.ts'
import { readDisks } from '#talos/client/inventory.ts'
import { readBootId } from '#talos/client/unattended-install.ts'
import type { Outcome } from '../../../engine/engine.ts'
import { system } from '../../../http/caller.ts'
import { installProblem, wipeProblem } from '../disks.ts'
import { Overtaken, pollMs, running, waiting } from '../whole/cluster-run.ts'
import type { Seen } from './acts.ts'
import { installFailed } from './failure-log.ts'
import { unseen } from './look.ts'
import {
  correct,
  fail,
  type MemberTurn,
  note,
  orderDeadlineMs,
  reread,
  demandStillWanted,
  unsent,
  waitOrFail,
} from './run.ts'

/**
 * Sends the configuration on the connection that has just verified the machine's identity. Returns
 * null, or why nothing was sent.
 * @throws TalosError; Overtaken
 */
async function giveConfiguration(
  client: TalosClient,
  turn: MemberTurn,
  isInstalled: boolean,
): Promise<string | null> {
  const { m, parts } = turn
  // The last check before the installer wipes: a confirmed disk may be gone, or its content may
  // have changed.
  const disks = await readDisks(client)
  const problem =
    (isInstalled ? null : installProblem(m, disks)) ??
    wipeProblem(m, disks, { isInstalled, isAgain: m.send_intent_at !== null })
  const justBefore = () => demandStillWanted(turn)
  // Until the machine shows another boot, it hasn't booted from the disk.
  if (problem === null) await correct(turn, { install_boot_id: await readBootId(client) })
  if (problem === null)
    await parts.configurations.applyNewest(client, m, {
      mode: 'auto',
      deadlineMs: orderDeadlineMs,
      justBefore,
    })
  else await justBefore()
  return problem
}

/**
 * Marks the server as failed if it refuses the configuration permanently. Other errors are retried
 * after the server's state was read again.
 */
async function refusedConfiguration(turn: MemberTurn, error: unknown): Promise<Outcome> {
  const { job, m } = turn
  if (
    error instanceof TalosError &&
    (error.kind === 'invalid_argument' || error.kind === 'unimplemented')
  )
    return fail(turn, 'apply', `${m.name} refused its configuration: ${error.message}`)
  const seen = unseen(error, job.signal)
  if (seen.kind === 'stranger') return fail(turn, 'apply', seen.reason)
  // `permission_denied`: the machine has a complete configuration, so only an admin may apply
  // another one, even if its maintenance API still answers.
  const has = error instanceof TalosError && error.kind === 'permission_denied'
  const reason = has
    ? `${m.name} has received a configuration already and is about to apply it`
    : `${m.name} did not confirm its configuration: ${seen.reason}`
  const act = waitOrFail(turn, 'apply', reason)
  if (act.act === 'fail') return fail(turn, 'apply', act.reason)
  await note(turn, 'apply', waiting(reason))
  return { againMs: Math.max(1_000, pollMs(job.elapsedMs(m.at_since))) }
}

/**
 * Sends the server its newest configuration. `why`: why the installation is repeated; null for the
 * first installation.
 */
export async function configure(
  turn: MemberTurn,
  seen: Seen,
  why: string | null,
): Promise<Outcome | 'again'> {
  const { parts, job, state, m } = turn
  const wasInstalled =
    seen.kind === 'maintenance' &&
    seen.installation.state !== 'none' &&
    seen.installation.state !== 'wiped'
  // The intent is written before sending, because the server may get the cluster's secrets even if
  // the call fails.
  const intent = {
    send_intent_at: new Date(job.now()),
    sent_at: null,
    left_at: null,
    // Set now, because the server has just answered and may not answer the next call.
    seen_at: new Date(job.now()),
    sends: m.sends + 1,
    was_installed: m.was_installed ?? wasInstalled,
    install_boot_id: null,
    install_failed_at: null,
    unbootable_at: null,
  }
  const isNoted = await note(turn, 'apply', running(why), intent, async (tx) => {
    // The server accepted an earlier configuration, so the installation with that configuration has
    // failed.
    if (m.sent_at !== null) await parts.record(tx, system, installFailed(m, state.row.name))
  })
  if (!isNoted) return 'again'
  try {
    const connection = await parts.servers.connection(m.node_id)
    const options = { signal: job.signal, deadlineMs: orderDeadlineMs }
    const problem = await job.effect(`apply/${m.node_id}`, () =>
      connection.maintenance((client) => giveConfiguration(client, turn, wasInstalled), options),
    )
    if (problem !== null) {
      await unsent(turn)
      return fail(await reread(turn), 'apply', problem)
    }
  } catch (error) {
    if (error instanceof Overtaken) return unsent(turn)
    await correct(turn, { send_intent_at: new Date(job.now()) })
    return refusedConfiguration(await reread(turn), error)
  }
  const newest = await parts.configurations.kept.newest(parts.db, m.cluster_id, m.node_id)
  const { effect } = await parts.configurations.effectOf(m.node_id, {
    after: newest!.yaml,
    isControlPlane: null,
    peers: [],
  })
  const sent = {
    sent_at: new Date(job.now()),
    stage: 'maintenance',
    seen_at: new Date(job.now()),
  } as const
  await note(await reread(turn), 'install', running(why), sent, async (tx) => {
    if (effect.kind === 'moves') await parts.servers.noteMoved(tx, m.node_id, effect.address)
  })
  return { againMs: pollMs(0) }
}
