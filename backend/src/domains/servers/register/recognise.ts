/**
 * Recognises the machine at an address by UUID, serial number and, if boards share both, MAC
 * addresses. An address proves nothing, because addresses are reassigned and anybody can use one.
 */
import { isSharedUuid, needsMac, ownMacs } from '#contract/servers/identity.ts'
import type { Identity } from '#talos/client/inventory.ts'
import type { ServerRow } from '../store.ts'

/** Facts about a machine that answers at an address. */
interface Seen {
  readonly address: string
  readonly identity: Identity
  /** MAC addresses of its ports; empty if unknown. */
  readonly macs: readonly string[]
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
   * `identityMac`: what tells the machine apart if its UUID and serial number don't. `note`: why a
   * user must look at the new server before it is used; null if there is no doubt.
   */
  | { readonly kind: 'new'; readonly identityMac: string | null; readonly note: string | null }
  /**
   * `unasked`: the hardware is known at another address, which has to be probed first to detect two
   * machines with one UUID.
   */
  | { readonly kind: 'unasked' }
  /** The machine can't be told apart from others. */
  | { readonly kind: 'anonymous'; readonly sentence: string }
  /**
   * `known`: the machine is at an address of the known server. `moved`: it is at a new address.
   * `claims`: it says that it is the known server, but that one is elsewhere. `other`: it is at the
   * known server's address, but is other hardware. Nothing is sent to the last two.
   */
  | {
      readonly kind: 'known' | 'moved' | 'claims' | 'other'
      readonly server: ServerRow
      readonly sentence: string
    }

const called = ({ uuid, serial, product }: Identity): string =>
  `${product ? `${product}, ` : ''}UUID ${uuid}, serial ${serial || 'unknown'}`

/** The MAC address that stands for a machine: the same one at each reading. */
const firstOf = (macs: readonly string[]): string | null => macs.toSorted()[0] ?? null

export const macsOf = (ports: readonly { readonly hardware_addr?: string | undefined }[]) =>
  ownMacs(ports.flatMap(({ hardware_addr }) => hardware_addr || []))

/**
 * Whether a machine is the known server, as far as it says. Ports are compared as well, because
 * clones of one board have the same UUID and serial number.
 */
export function isSameMachine(
  server: Pick<ServerRow, 'uuid' | 'serial' | 'identity_mac' | 'address' | 'hardware'>,
  { address, identity, macs }: Pick<Seen, 'address' | 'identity' | 'macs'>,
): boolean {
  if (server.uuid !== identity.uuid) return false
  if (server.serial !== null && server.serial !== identity.serial) return false
  if (server.identity_mac !== null) return macs.includes(server.identity_mac)
  const known = macsOf(server.hardware?.interfaces ?? [])
  const isDisjoint = known.length > 0 && macs.length > 0 && !known.some((mac) => macs.includes(mac))
  // A card may be replaced. The machine stays at its address then.
  return !isDisjoint || (server.address === address && !isSharedUuid(identity.uuid))
}

/** Of several servers that match, the one whose MAC address is known to tell it apart. */
export const sameAmong = (
  servers: readonly ServerRow[],
  seen: Pick<Seen, 'address' | 'identity' | 'macs'>,
): ServerRow | undefined =>
  servers
    .filter((s) => isSameMachine(s, seen))
    .toSorted((a, b) => Number(b.identity_mac !== null) - Number(a.identity_mac !== null))[0]

/** @param servers servers with the UUID or the address, without removed ones */
export function recognise(servers: readonly ServerRow[], seen: Seen): Recognition {
  const { address, identity, macs, elsewhere, addresses } = seen
  const same = sameAmong(servers, seen)
  if (same) {
    if (same.address === address)
      return { kind: 'known', server: same, sentence: `Registered already as ${same.name}` }
    const isAsked = elsewhere.address === same.address
    if (isAsked && elsewhere.answers)
      return {
        kind: 'claims',
        server: same,
        sentence: `Two machines have the UUID and serial of ${same.name}: one answers at ${same.address}, another at ${address}`,
      }
    if (same.cluster_id)
      return {
        kind: 'claims',
        server: same,
        sentence: `A machine at ${address} in maintenance mode says that it is ${same.name}, which is in the cluster ${same.cluster_name}. A member of a cluster proves itself by its certificate, so nothing is sent to this machine`,
      }
    // A machine with several addresses keeps its stored address.
    if (addresses.includes(same.address))
      return {
        kind: 'known',
        server: same,
        sentence: `Registered already as ${same.name}, which is reached at ${same.address}`,
      }
    if (!isAsked) return { kind: 'unasked' }
    return {
      kind: 'moved',
      server: same,
      sentence: `${same.name} has moved from ${same.address} to ${address}`,
    }
  }
  const there = servers.find((s) => s.address === address && s.uuid !== null)
  if (there)
    return {
      kind: 'other',
      server: there,
      sentence: `Other hardware answers at the address of ${there.name}: ${called(identity)}. Confirm which machine this is, or remove ${there.name} first`,
    }
  // A member of a cluster first, because it is the one that a stranger would harm.
  const alike = servers
    .filter((s) => s.uuid === identity.uuid)
    .toSorted((a, b) => Number(b.cluster_id !== null) - Number(a.cluster_id !== null))
  const twin = alike.find((s) => s.serial === null || s.serial === identity.serial)
  const isMacNeeded = needsMac(identity) || twin !== undefined
  const identityMac = isMacNeeded ? firstOf(macs) : null
  if (isMacNeeded && identityMac === null)
    return {
      kind: 'anonymous',
      sentence: `The machine at ${address} can't be distinguished from others: ${called(identity)}, and it reports no MAC address. Give it a UUID of its own in its firmware settings`,
    }
  const [first] = alike
  const note =
    first === undefined || isSharedUuid(identity.uuid)
      ? null
      : `A second machine has the UUID of ${first.name}${first.cluster_name ? `, which is in the cluster ${first.cluster_name}` : ''}: ${called(identity)} answered at ${address}, ${first.name} has ${twin ? 'other MAC addresses' : `serial ${first.serial || 'unknown'}`}. Confirm this one only if you know both`
  return { kind: 'new', identityMac, note }
}
