import { join, resolve } from 'node:path'
import type * as z from 'zod/mini'
import { createClock } from './clock.ts'
import { EtcdRegistry } from './cluster/registry.ts'
import { openControl } from './control/serve.ts'
import { startFactory, type Factory } from './factory/serve.ts'
import { BmcFleet } from './bmc/fleet.ts'
import type { Place } from './fleet/places.ts'
import { BootedFleet, bootSchema } from './fleet/booted.ts'
import { planFleet, type ServerPlan } from './fleet/plan.ts'
import { parseScenario, type Scenario } from './fleet/scenario.ts'
import { Growth } from './grow.ts'
import type { Machine } from './machine/machine.ts'
import { SimulatedMachine } from './machine/simulated-machine.ts'
import { faultsAt } from './machine/trouble.ts'
import { makeFolder, readState, writeState } from './store.ts'
import { openMaintenance, openSecured, renewSecured } from './wire/apid.ts'
import type { World } from './world.ts'

export interface SimulatorOptions {
  /**
   * Folder of the persistent state: disks, clusters, counters. Starting again with the same folder
   * continues the same fleet.
   */
  dataDir: string
  /** Number of servers, as an alternative to a whole scenario. Default: twelve. */
  servers?: number
  scenario?: unknown
  seed?: string
  /** Speed relative to the wall clock: 1 for demonstrations, 50 for tests. */
  speed?: number
  /**
   * Added to the third byte of every address, so that fleets of several processes don't collide.
   */
  subnetOffset?: number
  /**
   * Port of the image factory on 127.0.0.1. Default: the last one used in this folder, or a free
   * one.
   */
  factoryPort?: number
  /** Wall clock in milliseconds since 1970, for tests. */
  now?: () => number
  say?: (line: string) => void
}

export type Simulator = Awaited<ReturnType<typeof startSimulator>>

/**
 * Maximum number of servers that start at the same time, so that thousands of sockets don't flood
 * the system's queue.
 */
const BATCH = 200

/**
 * Starts simulated servers in this process. Resolves when every unconfigured server with power
 * answers in maintenance. Rejects with `ScenarioError`, or with the system's error if an address
 * isn't available.
 */
export const startSimulator = async (options: SimulatorOptions) => {
  const scenario = parseScenario({
    ...(typeof options.scenario === 'object' ? options.scenario : {}),
    ...(options.servers !== undefined && { servers: options.servers }),
    ...(options.seed !== undefined && { seed: options.seed }),
  })
  const dataDir = makeFolder(resolve(options.dataDir))
  const folder = makeFolder(join(dataDir, 'servers'))
  const isKnown = continueFleet(dataDir, scenario)
  const subnetOffset = options.subnetOffset ?? 0
  const clock = createClock(options.speed ?? scenario.speed, options.now)
  const plans = planFleet(scenario, subnetOffset)
  const etcd = new EtcdRegistry(join(dataDir, 'clusters'))
  const machines: Machine[] = []
  let factory: Factory | null = null
  const world: World = {
    clock,
    machines,
    named: (name) => byName.get(name),
    etcd,
    loadBalancer: scenario.load_balancer,
    api: { openMaintenance, openSecured, renewSecured },
    subnetOffset,
    patience: {},
    schematic: (id) => factory?.schematic(id),
    say: options.say ?? (() => undefined),
  }
  const byIndex = new Map<number, Machine>()
  const byName = new Map<string, Machine>()
  const add = (plan: ServerPlan, load: boolean): Machine => {
    const machine = new SimulatedMachine(plan, world, folder, scenario.seed, load)
    byIndex.set(plan.index, machine)
    byName.set(plan.name, machine)
    machine.onStage = (stage) => {
      faultsAt(machine, stage).catch((cause: unknown) =>
        world.say(`${plan.name}: ${String(cause)}`),
      )
    }
    machines.push(machine)
    return machine
  }
  const booted = new BootedFleet(dataDir, scenario.seed, subnetOffset)
  for (const plan of [...plans, ...booted.plans()]) add(plan, isKnown)
  etcd.connect((index) => byIndex.get(index))
  etcd.dropUnfinished()
  const bmcs = new BmcFleet(makeFolder(join(dataDir, 'bmcs')), world, isKnown)
  const growth = new Growth({
    world,
    booted,
    schematics: () => factory?.schematics ?? [],
    defaultPlace: plans[0]!.place.code,
    add: (plan) => add(plan, false),
    opened: (machine) => bmcs.open(machine),
    drop(machine) {
      bmcs.remove(machine)
      byIndex.delete(machine.plan.index)
      byName.delete(machine.plan.name)
      machines.splice(machines.indexOf(machine), 1)
    },
  })
  const simulator = {
    servers: machines as readonly Machine[],
    /** Finds a server by name, address or UUID. Throws if no server matches. */
    server(which: string): Machine {
      const found = machines.find(
        ({ plan, disk }) =>
          plan.name === which || plan.address === which || disk.identity.uuid === which,
      )
      if (!found) throw new Error(`There is no simulated server ${which}`)
      return found
    },
    /** The management controllers. */
    bmcs,
    get places(): Place[] {
      return [...new Map(machines.map(({ plan: { place } }) => [place.code, place])).values()]
    },
    clock,
    world,
    scenario,
    /** Path of the control socket. */
    control: join(dataDir, 'control.sock'),
    get factory(): Factory {
      if (!factory) throw new Error('The image factory has not started yet')
      return factory
    },
    /**
     * Boots machines outside of the scenario, all at once. Resolves when the machines are on. These
     * machines persist across restarts of the simulator.
     */
    boot: (wish: z.input<typeof bootSchema>) => growth.boot(bootSchema.parse(wish)),
    /** Assigns another address in 127.20.0.0/16 from the next boot on. Returns the address. */
    move: (machine: Machine, address?: string) => growth.move(machine, address),
    /** Removes a machine outside of the scenario. */
    remove: (machine: Machine) => growth.remove(machine),
    /** Stops everything, like a power cut of the site: only the disks keep their state. */
    async stop(): Promise<void> {
      await control.close()
      await factory?.stop()
      bmcs.stop()
      await Promise.all(machines.map((machine) => machine.lifecycle.halt()))
    },
  }
  // Open the control socket first, because it also serves as the lock of the folder.
  const control = await openControl(simulator)
  try {
    factory = await startFactory({
      file: join(dataDir, 'factory.json'),
      ...(options.factoryPort !== undefined && { port: options.factoryPort }),
    })
    await growth.giveWay()
    for (let at = 0; at < machines.length; at += BATCH)
      await Promise.all(
        machines
          .slice(at, at + BATCH)
          .flatMap((machine) => [machine.lifecycle.start(), bmcs.open(machine)]),
      )
  } catch (cause) {
    await simulator.stop()
    throw cause
  }
  return simulator
}

/**
 * Whether the folder already contains this fleet. Throws if it contains a fleet with another seed,
 * because the disks would be in the wrong servers.
 */
const continueFleet = (dataDir: string, scenario: Scenario): boolean => {
  const path = join(dataDir, 'fleet.json')
  const stored = readState(path) as { seed: string } | null
  if (stored && stored.seed !== scenario.seed)
    throw new Error(
      `${dataDir} holds a fleet made with the seed "${stored.seed}"; use another folder for the seed "${scenario.seed}"`,
    )
  if (!stored) writeState(path, { seed: scenario.seed })
  return stored !== null
}
