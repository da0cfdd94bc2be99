/** Starts again what Talos has given up on a server that joins. */
import { TalosError } from '#talos/client/errors.ts'
import type { Outcome } from '../../../engine/engine.ts'
import { Overtaken, running, waiting } from '../whole/cluster-run.ts'
import type { ServerAct } from './acts.ts'
import { unseen } from './look.ts'
import {
  correct,
  demandStillWanted,
  type MemberChange,
  type MemberTurn,
  note,
  orderDeadlineMs,
  reread,
} from './run.ts'

/**
 * Sends the restart if the machine still shows a failed etcd without data. It is recorded right
 * before it is sent, so it is sent at most once, also if its answer is lost.
 */
export async function restartForEtcd(
  turn: MemberTurn,
  { at, reason }: Extract<ServerAct, { act: 'restart-for-etcd' }>,
  change: MemberChange,
): Promise<Outcome | 'again'> {
  const { parts, job, m } = turn
  if (!(await note(turn, at, running(reason), change))) return 'again'
  try {
    const connection = await parts.servers.connection(m.node_id)
    const credentials = (await parts.secrets.talosAdmin(m.cluster_id))!
    const options = { signal: job.signal, deadlineMs: orderDeadlineMs }
    await job.effect(`restart-for-etcd/${m.node_id}`, () =>
      connection.secure(
        credentials,
        async (client) => {
          const [services, hasData] = await Promise.all([client.services(), client.hasEtcdData()])
          const etcd = services.find(({ id }) => id === 'etcd')
          if (etcd?.state !== 'Failed' || hasData !== false) return
          await demandStillWanted(turn)
          await correct(turn, { etcd_restart_at: new Date(job.now()) })
          await client.reboot({ deadlineMs: orderDeadlineMs })
        },
        options,
      ),
    )
    return { againMs: 500 }
  } catch (error) {
    if (error instanceof Overtaken) return 'again'
    if (!(error instanceof TalosError)) throw error
    const seen = unseen(error, job.signal)
    await note(await reread(turn), at, waiting(`${reason}, which did not work: ${seen.reason}`))
    return { againMs: 2_000 }
  }
}

/** Pause in ms before a kubelet that has failed again is started again. */
const kubeletEveryMs = 15_000

/** Starts a kubelet that Talos has given up. It runs no pods, so nothing is stopped. */
export async function startKubelet(
  turn: MemberTurn,
  { at, reason }: Extract<ServerAct, { act: 'start-kubelet' }>,
  change: MemberChange,
): Promise<Outcome | 'again'> {
  const { parts, job, m } = turn
  if (!(await note(turn, at, waiting(reason), change))) return 'again'
  try {
    const connection = await parts.servers.connection(m.node_id)
    const credentials = (await parts.secrets.talosAdmin(m.cluster_id))!
    await job.effect(`start-kubelet/${m.node_id}`, () =>
      connection.secure(credentials, (client) => client.restartService('kubelet'), {
        signal: job.signal,
        deadlineMs: orderDeadlineMs,
      }),
    )
  } catch (error) {
    if (!(error instanceof TalosError)) throw error
    unseen(error, job.signal)
  }
  return { againMs: kubeletEveryMs }
}
