/** The data that a contact reads from a server at longer intervals than its stage. */
import type { TalosClient } from '#talos/client/client.ts'
import { TalosError } from '#talos/client/errors.ts'
import {
  type Inventory,
  type MachineStatus,
  readInventory,
  readStatus,
  type Status,
} from '#talos/client/inventory.ts'
import { resources } from '#talos/client/resources.ts'

/** All stored data of a machine. */
export interface Reading {
  readonly status: Status
  readonly inventory: Inventory
  readonly secureBoot: boolean | null
}

/**
 * A reading that waits until it is stored, with the hardware as the text that the database stores:
 * as objects it takes several times the memory.
 */
export interface PackedReading {
  readonly status: Status
  readonly hardware: string
  readonly secureBoot: boolean | null
}

/** @param known the machine's stage, if it was just read */
export async function readEverything(client: TalosClient, known?: MachineStatus): Promise<Reading> {
  const [status, inventory, security] = await Promise.all([
    readStatus(client, known),
    readInventory(client),
    securityOf(client),
  ])
  return { status, inventory, secureBoot: security }
}

async function securityOf(client: TalosClient): Promise<boolean | null> {
  try {
    const state = await client.get(resources.securityState, 'securitystate')
    return state ? state.spec.secureBoot : null
  } catch (error) {
    // Talos versions without this call refuse it; any other error makes the reading fail.
    if (
      error instanceof TalosError &&
      (error.kind === 'permission_denied' || error.kind === 'unimplemented')
    )
      return null
    throw error
  }
}
