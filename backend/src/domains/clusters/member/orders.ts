/** What is said to a machine that changes it: its configuration, and its reset. Asked for in the connection in which its identity was just read. */
import type { TalosClient } from '#talos/client/client.ts'
import { readDisks } from '#talos/client/inventory.ts'
import { resources } from '#talos/client/resources.ts'
import { installProblem, toWipe, wipeProblem } from '../create/disks.ts'
import type * as store from '../store.ts'

/** It works before it answers. */
export const orderDeadlineMs = 60_000

/** Throws where the order is not to be given any more: asked last, with nothing between it and the order. */
type Demand = () => Promise<void>

/** Sends the configuration, and answers null; or says why nothing was sent. @throws TalosError */
export async function giveConfiguration(client: TalosClient, m: store.MemberRow, yaml: string, isInstalled: boolean, demand: Demand): Promise<string | null> {
  // The last look before the installer wipes: what was confirmed may be gone, or hold something else by now.
  const disks = await readDisks(client)
  const problem = (isInstalled ? null : installProblem(m, disks)) ?? wipeProblem(m, disks, { isInstalled, isAgain: m.send_intent_at !== null })
  await demand()
  if (problem === null) await client.applyConfiguration(yaml, { mode: 'auto' }, { deadlineMs: orderDeadlineMs })
  return problem
}

/**
 * Orders the reset, and tells which of the workload disks are not there any more. Talos itself stays on its disk: the server comes back in maintenance
 * without any other medium to boot from. @throws TalosError
 */
export async function orderReset(client: TalosClient, m: store.MemberRow, graceful: boolean, demand: Demand): Promise<string[]> {
  const options = { graceful, reboot: true, systemPartitions: ['STATE', 'EPHEMERAL'] }
  if (m.workload_disks.length === 0) {
    await demand()
    await client.reset({ ...options, mode: 'system_disk' }, { deadlineMs: orderDeadlineMs })
    return []
  }
  const [disks, system] = await Promise.all([readDisks(client), client.get(resources.systemDisk, 'system-disk')])
  const { wipe, gone } = toWipe(m, disks, system?.spec.devPath)
  await demand()
  await client.reset({ ...options, userDisks: wipe, mode: wipe.length > 0 ? 'all' : 'system_disk' }, { deadlineMs: orderDeadlineMs })
  return gone
}
