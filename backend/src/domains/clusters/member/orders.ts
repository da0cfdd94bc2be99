/** Orders that change a machine: its configuration and its reset. Sent on the connection that has just verified its identity. */
import type { TalosClient } from '#talos/client/client.ts'
import { readDisks } from '#talos/client/inventory.ts'
import { resources } from '#talos/client/resources.ts'
import { installProblem, toWipe, wipeProblem } from '../create/disks.ts'
import type * as store from '../store.ts'

/** Long, because the machine works before it answers. In ms. */
export const orderDeadlineMs = 60_000

/** Throws if the order is no longer wanted. Called immediately before the order. */
type Demand = () => Promise<void>

/** Sends the configuration. Returns null, or why nothing was sent. @throws TalosError */
export async function giveConfiguration(client: TalosClient, m: store.MemberRow, yaml: string, isInstalled: boolean, demand: Demand): Promise<string | null> {
  // The last check before the installer wipes: a confirmed disk may be gone or have other content.
  const disks = await readDisks(client)
  const problem = (isInstalled ? null : installProblem(m, disks)) ?? wipeProblem(m, disks, { isInstalled, isAgain: m.send_intent_at !== null })
  await demand()
  if (problem === null) await client.applyConfiguration(yaml, { mode: 'auto' }, { deadlineMs: orderDeadlineMs })
  return problem
}

/**
 * Orders the reset and reports missing workload disks. Talos stays on its disk, so the server comes back in maintenance
 * without other boot media. @throws TalosError
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
