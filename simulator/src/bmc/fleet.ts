import type { Machine } from '../machine/machine.ts'
import type { World } from '../world.ts'
import { Bmc } from './bmc.ts'
import { speakerOf } from './http.ts'

/** The management controllers of a fleet. */
export class BmcFleet {
  readonly #folder: string
  readonly #world: World
  readonly #load: boolean
  readonly #byMachine = new Map<Machine, Bmc>()
  #isMissing = false

  constructor(folder: string, world: World, load: boolean) {
    this.#folder = folder
    this.#world = world
    this.#load = load
  }

  get all(): Bmc[] {
    return [...this.#byMachine.values()]
  }

  of(machine: Machine): Bmc | undefined {
    return this.#byMachine.get(machine)
  }

  /**
   * Opens the management controller of a machine. If this system doesn't have its address, or
   * another program uses it, the machine goes on without one.
   */
  async open(machine: Machine): Promise<void> {
    const bmc = new Bmc(machine, this.#folder, this.#load)
    this.#byMachine.set(machine, bmc)
    try {
      await bmc.open(() => speakerOf(bmc))
    } catch (cause) {
      this.drop(machine)
      if (this.#isMissing) return
      this.#isMissing = true
      this.#world.say(`${machine.plan.name} has no BMC at ${bmc.address}: ${String(cause)}`)
    }
  }

  drop(machine: Machine): void {
    this.#byMachine.get(machine)?.close()
    this.#byMachine.delete(machine)
  }

  /** The machine was taken away for good. */
  remove(machine: Machine): void {
    this.#byMachine.get(machine)?.kept.erase()
    this.drop(machine)
  }

  stop(): void {
    for (const bmc of this.#byMachine.values()) bmc.close()
  }
}
