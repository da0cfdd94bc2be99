/**
 * Recognises the machine at an address by UUID and serial. An address proves nothing, because
 * addresses are reassigned and anybody can use one.
 */
import type { Identity } from '#talos/client/inventory.ts'
import type { ServerRow } from '../store.ts'

/** Facts about a machine that answers at an address. */
interface Seen {
  readonly address: string
  readonly identity: Identity
  /**
   * `address`: another address at which the same hardware is known, or null. `answers`: whether a
   * machine with a different key answers at that other address, which means that there are two
   * machines.
   */
  readonly elsewhere: { readonly address: string | null; readonly answers: boolean }
  /** Addresses that the machine reports. */
  readonly addresses: readonly string[]
}

export type Recognition =
  /**
   * `unasked`: the hardware is known at another address, which has to be probed first to detect two
   * machines with one UUID.
   */
  | { readonly kind: 'new' | 'unasked' }
  /**
   * `known`: the machine is at an address of the known server. `moved`: it is at a new address.
   * `alarm`: a contradiction; the server gets an alarm, and nothing is sent to the machine.
   */
  | {
      readonly kind: 'known' | 'moved' | 'alarm'
      readonly server: ServerRow
      readonly sentence: string
    }

const called = ({ uuid, serial, product }: Identity): string =>
  `${product ? `${product}, ` : ''}UUID ${uuid}, serial ${serial || 'unknown'}`

/** @param servers servers with the UUID or the address, without removed ones */
export function recognise(
  servers: readonly ServerRow[],
  { address, identity, elsewhere, addresses }: Seen,
): Recognition {
  const alarm = (server: ServerRow, sentence: string) =>
    ({ kind: 'alarm', server, sentence }) as const
  const byUuid = servers.find((s) => s.uuid === identity.uuid)
  const byAddress = servers.find(
    (s) => s.address === address && s.uuid !== identity.uuid && s.uuid !== null,
  )
  if (byUuid) {
    if (byUuid.serial !== null && byUuid.serial !== identity.serial)
      return alarm(
        byUuid,
        `A second machine has the UUID of ${byUuid.name}: ${called(identity)} answered at ${address}, ${byUuid.name} has serial ${byUuid.serial || 'unknown'}`,
      )
    if (byUuid.address === address)
      return { kind: 'known', server: byUuid, sentence: `Registered already as ${byUuid.name}` }
    const isAsked = elsewhere.address === byUuid.address
    if (isAsked && elsewhere.answers)
      return alarm(
        byUuid,
        `Two machines have the UUID and serial of ${byUuid.name}: one answers at ${byUuid.address}, another at ${address}`,
      )
    if (byUuid.cluster_id)
      return alarm(
        byUuid,
        `The hardware of ${byUuid.name}, which is in the cluster ${byUuid.cluster_name}, answered at ${address} in maintenance mode`,
      )
    // A machine with several addresses keeps its stored address.
    if (addresses.includes(byUuid.address))
      return {
        kind: 'known',
        server: byUuid,
        sentence: `Registered already as ${byUuid.name}, which is reached at ${byUuid.address}`,
      }
    if (!isAsked) return { kind: 'unasked' }
    return {
      kind: 'moved',
      server: byUuid,
      sentence: `${byUuid.name} has moved from ${byUuid.address} to ${address}`,
    }
  }
  if (byAddress)
    return alarm(
      byAddress,
      `Other hardware answers at the address of ${byAddress.name}: ${called(identity)}. Confirm which machine this is, or remove ${byAddress.name} first`,
    )
  return { kind: 'new' }
}
