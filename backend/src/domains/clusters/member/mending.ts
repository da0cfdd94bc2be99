/**
 * Wipes a half-installed disk, so that Talos installs on it again. Only the chosen install disk, by its WWID, because the kernel may rename disks at
 * each boot and a wrong wipe loses data.
 */
import type { TalosClient } from '#talos/client/client.ts'
import { readInstallation } from '#talos/client/installation.ts'
import { type Disk, readDisks } from '#talos/client/inventory.ts'
import { TalosError } from '#talos/client/errors.ts'
import type { Job, Outcome } from '../../../engine/engine.ts'
import type { ServerAct } from './decide-server.ts'
import type { State } from '../facts.ts'
import { unseen } from './look.ts'
import { orderDeadlineMs } from './orders.ts'
import { Overtaken } from '../whole/overtaken.ts'
import { running, waiting } from '../whole/progress.ts'
import * as store from '../store.ts'
import type { MemberRun } from './run.ts'

type Mend = Extract<ServerAct, { act: 'mend' }>
type Chosen = Pick<store.MemberRow, 'name' | 'install_disk' | 'disk_wwids'>

/** How long a wipe takes to show, in ms, and how often it is repeated. */
const mendAgainMs = 15_000
const mostMends = 3

/** The disk to wipe by its current name, or why nothing is wiped. */
export function mendTarget(chosen: Chosen, now: readonly Pick<Disk, 'id' | 'wwid'>[], halfInstalled: string | null): { disk: string } | { problem: string } {
  const wwid = chosen.disk_wwids[chosen.install_disk]
  const alike = wwid === undefined ? [] : now.filter((d) => d.wwid === wwid)
  const by = 'It is not wiped: wipe it with talosctl wipe disk, then retry'
  if (wwid === undefined)
    return {
      problem: `${chosen.name} has a half-installed disk, and ${chosen.install_disk} has no WWID of its own by which it could be told from others. ${by}`,
    }
  if (alike.length !== 1 || halfInstalled === null)
    return { problem: `${chosen.name} has a half-installed disk, and the chosen one, WWID ${wwid}, is not there. ${by}` }
  if (alike[0]!.id !== halfInstalled)
    return { problem: `${chosen.name} has a half-installed Talos on /dev/${halfInstalled}, which is not the disk that was chosen, WWID ${wwid}. ${by}` }
  return { disk: halfInstalled }
}

/** Name of the wipe in the journal of effects. */
const mendEffect = (m: store.MemberRow, how: Mend['how']): string =>
  `${how === 'wipe' ? 'wipe-disk' : `${how}-install`}/${m.node_id}/${m.disk_wwids[m.install_disk] ?? m.install_disk}`

/** Orders the wipe or reset. Returns null, or why nothing was ordered. `demand` throws if it is no longer wanted. @throws TalosError */
async function orderMend(client: TalosClient, m: store.MemberRow, how: Mend['how'], demand: () => Promise<void>): Promise<string | null> {
  if (how === 'restart') {
    await demand()
    await client.reboot({ deadlineMs: orderDeadlineMs })
    return null
  }
  const [disks, installation] = await Promise.all([readDisks(client), readInstallation(client)])
  // The last order has taken effect.
  if (installation.state === 'none') return null
  const target = mendTarget(m, disks, installation.disk)
  if ('problem' in target) return target.problem
  await demand()
  if (how === 'wipe') await client.wipeDisk(target.disk, { deadlineMs: orderDeadlineMs })
  // On a running server the disk's volumes are mounted, and only a reset unmounts them.
  else await client.reset({ graceful: false, reboot: true, mode: 'system_disk' }, { deadlineMs: orderDeadlineMs })
  return null
}

export function mending({ note, fail, stillWanted, secrets, parts: { db, servers } }: MemberRun) {
  /** By wake-up: number and time of wipes that don't show yet. */
  const mended = new Map<string, { readonly times: number; readonly at: number }>()

  /** Wipes a half-installed disk, or resets a server that runs from memory. The next look decides what remains. */
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

  return {
    mend,
    /** Resets the count once the disk is fine. */
    forget: (job: Job) => void mended.delete(job.key),
  }
}
