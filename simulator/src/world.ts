import type { Clock } from './clock.ts'
import type { EtcdRegistry } from './cluster/registry.ts'
import type { Schematic } from './factory/schematic.ts'
import type { LoadBalancer } from './kubernetes/balancing/definitions.ts'
import type { Machine } from './machine/machine.ts'
import type * as apid from './wire/apid.ts'

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
  api: Pick<typeof apid, 'openMaintenance' | 'openSecured' | 'renewSecured'>
  /** Added to the third byte of every address. */
  subnetOffset: number
  /** A schematic of the image factory; undefined if the factory doesn't have it. */
  schematic(id: string): Schematic | undefined
  /** Prints a line for the person who runs the simulator. */
  say(line: string): void
}
