import type { Clock } from './clock.ts'
import type { EtcdRegistry } from './cluster/etcd.ts'
import type { Schematic } from './factory/schematic.ts'
import type { LoadBalancer } from './kubernetes/balancing/definitions.ts'
import type { Machine } from './machine/machine.ts'

/** How machines show themselves on port 50000. Handed in, because what answers there changes machines in turn. */
export interface Api {
  /** To anybody, without a configuration. */
  openMaintenance(machine: Machine): Promise<void>
  /** To holders of the cluster's certificates; resolves once the machine has a certificate of its own. */
  openSecured(machine: Machine, signal: AbortSignal): Promise<void>
  /** With a new certificate for new names. */
  renewSecured(machine: Machine): Promise<void>
}

/** What all simulated servers share: time, the network that joins them, and the data that lives in their clusters rather than on one of them. */
export interface World {
  clock: Clock
  machines: readonly Machine[]
  etcd: EtcdRegistry
  /** Of new clusters. */
  loadBalancer: LoadBalancer
  api: Api
  /** Added to the third byte of every address. */
  subnetOffset: number
  /** What the image factory knows of a schematic. */
  schematic(id: string): Schematic | undefined
  /** One line for whoever runs the simulator. */
  say(line: string): void
}
