/**
 * Makes a half-installed disk one that Talos installs on again. Nothing but the disk that was chosen for Talos, by its WWID: the kernel gives its names anew at
 * each boot, and what is wiped under a wrong one is lost.
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

/** How long what was ordered takes to show, and how often it is ordered again. */
const mendAgainMs = 15_000
const mostMends = 3

/** What may be wiped, by its name of now; or the sentence that says why nothing is. */
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

/** The name under which the wipe stands in the journal of effects. */
const mendEffect = (m: store.MemberRow, how: Mend['how']): string =>
  `${how === 'wipe' ? 'wipe-disk' : `${how}-install`}/${m.node_id}/${m.disk_wwids[m.install_disk] ?? m.install_disk}`

/** Orders what mends; answers null, or says why nothing was ordered. `demand` throws where it isn't wanted any more. @throws TalosError */
async function orderMend(client: TalosClient, m: store.MemberRow, how: Mend['how'], demand: () => Promise<void>): Promise<string | null> {
  if (how === 'restart') {
    await demand()
    await client.reboot({ deadlineMs: orderDeadlineMs })
    return null
  }
  const [disks, installation] = await Promise.all([readDisks(client), readInstallation(client)])
  // Gone, as it should be: what was told last time took its time to show.
  if (installation.state === 'none') return null
  const target = mendTarget(m, disks, installation.disk)
  if ('problem' in target) return target.problem
  await demand()
  if (how === 'wipe') await client.wipeDisk(target.disk, { deadlineMs: orderDeadlineMs })
  // Of a server that runs, volumes of that disk are mounted, and only a reset unmounts them.
  else await client.reset({ graceful: false, reboot: true, mode: 'system_disk' }, { deadlineMs: orderDeadlineMs })
  return null
}

export function mending({ note, fail, stillWanted, secrets, parts: { db, servers } }: MemberRun) {
  /** By wake-up: how often and when the disk of a server was mended that doesn't show it yet. */
  const mended = new Map<string, { readonly times: number; readonly at: number }>()

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

  return {
    mend,
    /** The disk is as it should be: what was tried for it counts no more. */
    forget: (job: Job) => void mended.delete(job.key),
  }
}
