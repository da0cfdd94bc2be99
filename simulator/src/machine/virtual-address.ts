import { TAKES } from './durations.ts'
import type { Machine } from './machine.ts'

/**
 * The virtual addresses of a cluster: one control plane at a time has them, elected through etcd, and another takes over when it is gone
 * (Talos: internal/app/machined/pkg/controllers/network/operator/vip.go). Only addresses of the simulation can be had.
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
    // Again and again: a port that opens later, or an address that its last owner still had, is had the next time.
    await Promise.all(Object.values(machine.ports).map((port) => port.share(addresses)))
    await machine.looksAgainAfter(TAKES.virtualAddress, signal)
  }
}
