/**
 * Wipes a half-installed disk, so that Talos installs on it again. Wipes only the chosen install disk, by its WWID, because the kernel may rename disks at
 * each boot and a wrong wipe loses data.
 */
import type { TalosClient } from '#talos/client/client.ts'
import { TalosError } from '#talos/client/errors.ts'
import { readInstallation } from '#talos/client/installation.ts'
import { type Disk, readDisks } from '#talos/client/inventory.ts'
import type { Outcome } from '../../../engine/engine.ts'
import type * as store from '../store.ts'
import { Overtaken, running, waiting } from '../whole/cluster-run.ts'
import type { ServerAct } from './decide-server.ts'
import { unseen } from './look.ts'
import { demandStillWanted, fail, type MemberTurn, note, orderDeadlineMs, reread } from './run.ts'

type Mend = Extract<ServerAct, { act: 'mend' }>
/** Number and time of wipes whose effect isn't visible on the server yet, by queue key. In memory only. */
export type Mends = Map<string, { readonly times: number; readonly at: number }>

/** Time in ms after which a wipe that had no visible effect is repeated, and the maximum number of wipes. */
const mendAgainMs = 15_000
const mostMends = 3

/** The disk to wipe by its current name, or why nothing is wiped. */
export function mendTarget(
  chosen: Pick<store.MemberRow, 'name' | 'install_disk' | 'disk_wwids'>,
  now: readonly Pick<Disk, 'id' | 'wwid'>[],
  halfInstalled: string | null,
): { disk: string } | { problem: string } {
  const wwid = chosen.disk_wwids[chosen.install_disk]
  const alike = wwid === undefined ? [] : now.filter((d) => d.wwid === wwid)
  const by = 'Steelyard does not wipe the half-installed disk: wipe it with talosctl wipe disk, then retry'
  if (wwid === undefined)
    return {
      problem: `${chosen.name} has a half-installed disk, and ${chosen.install_disk} has no unique WWID that distinguishes it from other disks. ${by}`,
    }
  if (alike.length !== 1 || halfInstalled === null)
    return { problem: `${chosen.name} has a half-installed disk, and the chosen disk, WWID ${wwid}, is missing. ${by}` }
  if (alike[0]!.id !== halfInstalled)
    return { problem: `${chosen.name} has a half-installed Talos on /dev/${halfInstalled}, which is not the disk that was chosen, WWID ${wwid}. ${by}` }
  return { disk: halfInstalled }
}

/** Name of the wipe in the journal of effects. */
const mendEffect = (m: store.MemberRow, how: Mend['how']): string =>
  `${how === 'wipe' ? 'wipe-disk' : `${how}-install`}/${m.node_id}/${m.disk_wwids[m.install_disk] ?? m.install_disk}`

/** Sends the wipe or reset. Returns null, or why nothing was sent. @throws TalosError; Overtaken if the wipe is no longer wanted */
async function orderMend(client: TalosClient, turn: MemberTurn, how: Mend['how']): Promise<string | null> {
  if (how === 'restart') {
    await demandStillWanted(turn)
    await client.reboot({ deadlineMs: orderDeadlineMs })
    return null
  }
  const [disks, installation] = await Promise.all([readDisks(client), readInstallation(client)])
  // The previous wipe has taken effect.
  if (installation.state === 'none') return null
  const target = mendTarget(turn.m, disks, installation.disk)
  if ('problem' in target) return target.problem
  await demandStillWanted(turn)
  if (how === 'wipe') await client.wipeDisk(target.disk, { deadlineMs: orderDeadlineMs })
  // On a running server the disk's volumes are mounted, and only a reset unmounts them.
  else await client.reset({ graceful: false, reboot: true, mode: 'system_disk' }, { deadlineMs: orderDeadlineMs })
  return null
}

/** Wipes a half-installed disk, or resets a server that runs from memory. The next run decides what remains to be done. */
export async function mend(turn: MemberTurn, { how, at, reason }: Mend, mends: Mends): Promise<Outcome | 'again'> {
  const { parts, job, m } = turn
  const before = mends.get(job.key)
  if (before !== undefined && job.now() - before.at < mendAgainMs) {
    await note(turn, at, waiting(reason))
    return { againMs: 1_000 }
  }
  const times = before?.times ?? 0
  if (times >= mostMends) {
    mends.delete(job.key)
    return fail(turn, at, `${reason}. Steelyard has tried this ${mostMends} times. Wipe the disk with talosctl wipe disk, restart the server, then retry`)
  }
  if (!(await note(turn, at, running(reason), { was_installed: false }))) return 'again'
  try {
    const connection = await parts.servers.connection(m.node_id)
    const order = (client: TalosClient) => orderMend(client, turn, how)
    const options = { signal: job.signal, deadlineMs: orderDeadlineMs }
    const credentials = await parts.secrets.talosAdmin(m.cluster_id)
    const problem = await job.effect(mendEffect(m, how), () =>
      how === 'wipe' ? connection.maintenance(order, options) : connection.secure(credentials!, order, options),
    )
    mends.set(job.key, { times: times + 1, at: job.now() })
    return problem === null ? { againMs: 500 } : fail(await reread(turn), at, problem)
  } catch (error) {
    if (error instanceof Overtaken) return 'again'
    const seen = unseen(error, job.signal)
    const isRefused = error instanceof TalosError && ['invalid_argument', 'unimplemented', 'failed_precondition', 'permission_denied'].includes(error.kind)
    const failure = `${reason}, which did not work: ${seen.reason}`
    if (isRefused || seen.kind === 'stranger') return fail(await reread(turn), at, failure)
    await note(await reread(turn), at, waiting(failure))
    return { againMs: 2_000 }
  }
}
