import { TAKES } from './durations.ts'
import type { Machine } from './machine.ts'

/**
 * Virtual addresses of a cluster: an elected control plane holds them, and another takes over when it fails
 * (Talos: internal/app/machined/pkg/controllers/network/operator/vip.go). Only addresses of the simulation are supported.
 */
export const runVirtualAddresses = async (machine: Machine, signal: AbortSignal): Promise<void> => {
  for (;;) {
    const isLeader = machine.etcdCluster?.leader?.machine === machine.plan.index
    const addresses =
      isLeader && machine.hasAddress
        ? (machine.config?.node?.virtualAddresses ?? []).map(({ address }) => address).filter((address) => address.startsWith('127.20.'))
        : []
    if (addresses.join() !== machine.virtualAddresses.join()) {
      machine.virtualAddresses = addresses
      for (const address of addresses) machine.journal.kernel(`[talos] assigned virtual IP ${address}`)
      machine.journal.changed()
    }
    // Repeated, for ports that open later and addresses that the last holder has not released yet.
    await Promise.all(Object.values(machine.ports).map((port) => port.share(addresses)))
    await machine.looksAgainAfter(TAKES.virtualAddress, signal)
  }
}
