/** A server's reported hardware and network. `talos/client/inventory.ts` has bounded and cleaned the values. */
import type { Inventory } from '#talos/client/inventory.ts'
import type { Hardware, HardwareLink } from '../../db/columns.ts'

/** The link with an address, if known. */
export const linkOf = (hardware: Hardware | null, address: string): HardwareLink | undefined =>
  hardware?.links.find((l) => l.addresses.some((a) => a.split('/', 1)[0] === address))

/** Drops zero numbers and empty texts, with which firmware means unknown. */
function known<T extends { id: string }>(part: T): T {
  return Object.fromEntries(Object.entries<unknown>({ ...part }).filter(([, value]) => value !== '' && value !== 0)) as T
}

const loopback = 'lo'

/** The stored form of Talos's inventory: without unknown values and in a fixed order, so that equal hardware is equal text. */
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
