import { addressAt, bmcAddressOf, spotOf, spots, type Spot, type ServerPlan } from './fleet/plan.ts'
import type { BootedFleet, BootOptions } from './fleet/booted.ts'
import type { Schematic } from './factory/schematic.ts'
import type { Machine } from './machine/machine.ts'
import { Port } from './wire/port.ts'
import type { World } from './world.ts'

/** The reason why a machine can't be booted or moved. */
export class GrowError extends Error {
  override name = 'GrowError'
}

export interface GrowParts {
  world: World
  booted: BootedFleet
  /** Every schematic in the image factory, the newest last. */
  schematics: () => Schematic[]
  /** Datacenter of machines that are booted without a datacenter. */
  defaultPlace: string
  add: (plan: ServerPlan) => Machine
  drop: (machine: Machine) => void
  /** Called for a new machine, which is on. Resolves when its management controller answers. */
  opened: (machine: Machine) => Promise<void>
}

/**
 * Changes a running fleet: boots machines outside of the scenario and moves machines to other
 * addresses.
 */
export class Growth {
  readonly #parts: GrowParts
  /** Runs changes one after another, because each searches for free addresses. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(parts: GrowParts) {
    this.#parts = parts
  }

  /**
   * Boots new machines, all at once. Resolves when the machines are on. Rejects with `GrowError` if
   * 127.20.0.0/16 has no free addresses left.
   */
  boot(wish: BootOptions): Promise<Machine[]> {
    return this.#oneByOne(async () => {
      const { booted, defaultPlace, add } = this.#parts
      const free = await this.#free(wish.count, wish.datacenter ?? null)
      const machines = booted
        .add(wish, this.#schematicOf(wish.kernel_command_line), free, defaultPlace)
        .map(add)
      for (const machine of machines) machine.lifecycle.begin()
      await Promise.all(machines.map((machine) => this.#parts.opened(machine)))
      return machines
    })
  }

  /**
   * Assigns the given address, or the next free one, from the next boot on. Returns the address.
   * Rejects with `GrowError` if it isn't available.
   */
  move(machine: Machine, address?: string): Promise<string> {
    return this.#oneByOne(async () => {
      const { subnetOffset } = this.#parts.world
      const wanted =
        address === undefined
          ? (await this.#free(1, machine.plan.place.code))[0]
          : spotOf(address, subnetOffset)
      if (!wanted)
        throw new GrowError(`${address} is no address in 127.20.0.0/16 that a server may have`)
      if (address !== undefined && !(await this.#isFree(wanted)))
        throw new GrowError(`${address} is taken`)
      machine.disk.change((state) => (state.spot = wanted))
      return addressAt(wanted, subnetOffset)
    })
  }

  /**
   * Removes a machine outside of the scenario. Rejects with `GrowError` if the machine belongs to
   * the scenario.
   */
  remove(machine: Machine): Promise<void> {
    return this.#oneByOne(async () => {
      if (!machine.plan.boot) throw new GrowError(`${machine.plan.name} belongs to the scenario`)
      await machine.lifecycle.halt()
      this.#parts.booted.remove(machine.plan.index)
      machine.disk.erase()
      this.#parts.drop(machine)
    })
  }

  /**
   * Moves machines outside of the scenario if a scenario with more servers now uses their
   * addresses.
   */
  async giveWay(): Promise<void> {
    const taken = new Set<string>()
    for (const machine of this.#parts.world.machines) {
      if (taken.has(machine.plan.address) && machine.plan.boot) {
        await this.move(machine)
        machine.settle()
        machine.plan.bmc.address = bmcAddressOf(machine.plan.address)
      }
      taken.add(machine.plan.address)
    }
  }

  #oneByOne<T>(act: () => Promise<T>): Promise<T> {
    const next = this.#last.then(act, act)
    this.#last = next.catch(() => undefined)
    return next
  }

  async #free(count: number, place: string | null): Promise<Spot[]> {
    const { world } = this.#parts
    const found: Spot[] = []
    const plans = world.machines.map(({ plan }) => plan)
    const taken = this.#taken()
    for (const spot of spots(plans, world.subnetOffset, place)) {
      if (found.length === count) break
      if (await this.#isFree(spot, taken)) found.push(spot)
    }
    if (found.length < count) throw new GrowError('127.20.0.0/16 has no room for so many servers')
    return found
  }

  /** Current and future addresses of this simulation's machines and clusters. */
  #taken(): Set<string> {
    const { world } = this.#parts
    return new Set(
      world.machines.flatMap(({ plan, disk, config }) => [
        plan.address,
        // The address beside that of its management controller.
        plan.bmc.address.replace(/^127\.21\./, '127.20.'),
        ...(disk.state.spot ? [addressAt(disk.state.spot, world.subnetOffset)] : []),
        ...(config?.node?.virtualAddresses ?? []).map(({ address }) => address),
      ]),
    )
  }

  async #isFree(spot: Spot, taken = this.#taken()): Promise<boolean> {
    const address = addressAt(spot, this.#parts.world.subnetOffset)
    if (taken.has(address)) return false
    try {
      await new Port(address, 50_000).probe()
      return true
    } catch (cause) {
      // The address is used by another simulation.
      if (cause instanceof Error && 'code' in cause && cause.code === 'EADDRINUSE') return false
      if (cause instanceof Error && 'code' in cause && cause.code === 'EADDRNOTAVAIL')
        throw new GrowError(
          `This system doesn't have the address ${address}; "sudo ifconfig lo0 alias ${address} up" adds it, and the like the next ones`,
        )
      throw cause
    }
  }

  /** Guesses the schematic from the kernel arguments. */
  #schematicOf(line: string): string | null {
    const parts = new Set(line.split(/\s+/))
    const made = this.#parts
      .schematics()
      .filter(
        ({ extraKernelArgs: own }) =>
          own.length > 0 &&
          own.every((argument) => argument.startsWith('-') || parts.has(argument)),
      )
    return made.at(-1)?.id ?? null
  }
}
