/**
 * Makes a half-installed disk one that Talos installs on again. Nothing but the disk that was chosen for Talos, by its WWID: the kernel gives its names anew at
 * each boot, and what is wiped under a wrong one is lost.
 */
import type { TalosClient } from '#talos/client/client.ts'
import { readInstallation } from '#talos/client/installation.ts'
import { type Disk, readDisks } from '#talos/client/inventory.ts'
import type { ServerAct } from './decide-server.ts'
import { orderDeadlineMs } from './orders.ts'
import type { MemberRow } from './store.ts'

export type Mend = Extract<ServerAct, { act: 'mend' }>
type Chosen = Pick<MemberRow, 'name' | 'install_disk' | 'disk_wwids'>

/** How long what was ordered takes to show, and how often it is ordered again. */
export const mendAgainMs = 15_000
export const mostMends = 3

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
export const mendEffect = (m: MemberRow, how: Mend['how']): string =>
  `${how === 'wipe' ? 'wipe-disk' : `${how}-install`}/${m.node_id}/${m.disk_wwids[m.install_disk] ?? m.install_disk}`

/** Orders what mends; answers null, or says why nothing was ordered. `demand` throws where it isn't wanted any more. @throws TalosError */
export async function orderMend(client: TalosClient, m: MemberRow, how: Mend['how'], demand: () => Promise<void>): Promise<string | null> {
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
