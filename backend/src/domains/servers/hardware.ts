/** What a server told about its hardware and network (bounded and cleaned where it was read, `talos/client/inventory.ts`), and what follows from it. */
import type { Inventory } from '#talos/client/inventory.ts'
import type { Hardware, HardwareLink } from '../../db/columns.ts'

/** The link that carries an address, if the server told of one. */
export const linkOf = (hardware: Hardware | null, address: string): HardwareLink | undefined =>
  hardware?.links.find((l) => l.addresses.some((a) => a.split('/', 1)[0] === address))

/** Numbers that firmware leaves at 0 and texts that it leaves empty are unknown, which is not 0. */
function known<T extends { id: string }>(part: T): T {
  return Object.fromEntries(Object.entries<unknown>({ ...part }).filter(([, value]) => value !== '' && value !== 0)) as T
}

const loopback = 'lo'

/** Talos's inventory as it is stored: what is unknown is left out, in one order, so that equal hardware is equal text. */
export function hardwareOf(inventory: Inventory): Hardware {
  const byName = <T extends { id: string }>(parts: readonly T[]): T[] => parts.map((p) => known(p)).toSorted((a, b) => (a.id < b.id ? -1 : 1))
  const interfaces = byName(inventory.interfaces)
  const physical = new Map(inventory.interfaces.map((i) => [i.id, i]))
  const names = new Set([...physical.keys(), ...Object.keys(inventory.linkAddresses)])
  names.delete(loopback)
  return {
    processors: byName(inventory.processors),
    memory: byName(inventory.memory),
    disks: byName(inventory.disks),
    interfaces,
    addresses: inventory.node_addresses,
    links: [...names].toSorted().map((name) => ({
      name,
      up: physical.get(name)?.link_state ?? true,
      physical: physical.has(name),
      hardware_addr: physical.get(name)?.hardware_addr || null,
      addresses: (inventory.linkAddresses[name] ?? []).toSorted(),
    })),
    routes: inventory.routes,
  }
}
