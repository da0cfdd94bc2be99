/** The data that a contact reads from a server: the stage each time, everything at longer intervals. */
import type { TalosClient } from '#talos/client/client.ts'
import { TalosError } from '#talos/client/errors.ts'
import { stageOf, unmetOf } from '#talos/client/events.ts'
import { type Inventory, type MachineStatus, readInventory, readStatus, type Status } from '#talos/client/inventory.ts'
import { resources } from '#talos/client/resources.ts'

/** All stored data of a machine. */
export interface Reading {
  readonly status: Status
  readonly inventory: Inventory
  readonly secureBoot: boolean | null
}

export async function readEverything(client: TalosClient): Promise<Reading> {
  const [status, inventory, security] = await Promise.all([readStatus(client), readInventory(client), securityOf(client)])
  return { status, inventory, secureBoot: security }
}

async function securityOf(client: TalosClient): Promise<boolean | null> {
  try {
    const state = await client.get(resources.securityState, 'securitystate')
    return state ? state.spec.secureBoot : null
  } catch (error) {
    // Talos versions without this call refuse it; any other error makes the reading fail.
    if (error instanceof TalosError && (error.kind === 'permission_denied' || error.kind === 'unimplemented')) return null
    throw error
  }
}

/** Reads only the machine's stage, with one call. */
export async function readStage(client: TalosClient): Promise<MachineStatus> {
  const machine = await client.get(resources.machineStatus, 'machine')
  if (!machine) throw new TalosError('invalid_data', 'server sent invalid data (machine status)')
  const { stage, status } = machine.spec
  return { stage: stageOf(stage), ready: status?.ready ?? false, unmet: unmetOf(status?.unmetConditions ?? []) }
}
