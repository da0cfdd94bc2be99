import type { Clock } from './clock.ts'
import type { EtcdRegistry } from './cluster/registry.ts'
import type { Schematic } from './factory/schematic.ts'
import type { LoadBalancer } from './kubernetes/balancing/definitions.ts'
import type { Machine } from './machine/machine.ts'
import type { Patience } from './machine/patience.ts'

/** Opens the API of machines on port 50000. */
interface MachineApi {
  /** The API of a machine without a complete configuration. */
  openMaintenance(machine: Machine): Promise<void>
  /** The API of a configured machine. A worker's waits until trustd signs its certificate. */
  openSecured(machine: Machine, signal: AbortSignal): Promise<void>
  /** Issues the certificate of a configured machine again. */
  renewSecured(machine: Machine): Promise<void>
}

/** What all simulated servers share: time, network, and the data of their clusters. */
export interface World {
  clock: Clock
  machines: readonly Machine[]
  /** A machine by its name in the fleet. */
  named(name: string): Machine | undefined
  etcd: EtcdRegistry
  /** The load balancer of new clusters. */
  loadBalancer: LoadBalancer
  /**
   * The API of machines on port 50000. Injected, because the API's handlers in turn depend on
   * machines.
   */
  api: MachineApi
  /** Added to the third byte of every address. */
  subnetOffset: number
  /** Limits of Talos that a test has changed. */
  patience: Patience
  /** A schematic of the image factory; undefined if the factory doesn't have it. */
  schematic(id: string): Schematic | undefined
  /** Prints a line for the person who runs the simulator. */
  say(line: string): void
}
