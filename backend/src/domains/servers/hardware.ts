/** What a server told about its hardware and network, bounded when it was read (`talos/client/inventory.ts`), and what follows from it. */
import type { Resources } from '#contract/servers.ts'

export interface HardwareLink {
  /** `enp129s0f0` */
  readonly name: string
  readonly up: boolean
  /** A port of the machine itself, as against a bond, bridge, VLAN or loopback. */
  readonly physical: boolean
  readonly hardware_addr: string | null
  /** With prefix: `10.1.2.3/24`. */
  readonly addresses: readonly string[]
}

export interface Hardware extends Omit<Resources, 'node_addresses'> {
  /** Addresses of the machine without prefix, as the console shows them. */
  readonly addresses: readonly string[]
  readonly links: readonly HardwareLink[]
}

/** The link that carries an address, if the server told of one. */
export const linkOf = (hardware: Hardware | null, address: string): HardwareLink | undefined =>
  hardware?.links.find((l) => l.addresses.some((a) => a.split('/', 1)[0] === address))
