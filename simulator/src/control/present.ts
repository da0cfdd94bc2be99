import { currentFingerprint } from '../wire/apid.ts'
import type { Machine } from '../machine/machine.ts'
import type { World } from '../world.ts'

/**
 * What a client needs to add a server by address. Unlike `presentServer` it doesn't work out the
 * server's hardware, which takes more than a second for ten thousand.
 */
export const presentAddress = ({ plan, disk }: Machine) => ({
  simulated: true,
  uuid: disk.identity.uuid,
  name: plan.name,
  address: plan.address,
  serial: disk.identity.serial,
  datacenter: plan.place,
  power: disk.state.power,
  bare: plan.isBare,
  /** Whether the server was booted with its own command line, outside of the scenario. */
  booted: plan.boot !== null,
})

/** A server as the control socket shows it, marked as simulated. */
export const presentServer = (machine: Machine): object => {
  const { plan, disk } = machine
  return {
    ...presentAddress(machine),
    stage: machine.stage.stage,
    mode: machine.mode,
    machineType: machine.config?.node?.role ?? null,
    talosVersion: machine.talosVersion,
    installedVersion: disk.state.installed?.version ?? null,
    hostname: machine.isOn ? machine.hostname : null,
    fingerprint: currentFingerprint(machine),
    manufacturer: machine.hardware.manufacturer,
    product: machine.hardware.product,
    slowness: plan.slowness,
    faults: disk.state.faults,
    mac: machine.managementLink.mac,
    schematic: machine.schematic,
    kernelCommandLine: machine.kernelCommandLine,
  }
}

/** A server right after power-on. */
export const presentBooted = (machine: Machine): object => ({
  ...presentAddress(machine),
  mac: machine.managementLink.mac,
  schematic: machine.plan.schematic,
})

/**
 * Counters of every server, and the number of etcd clusters per Talos cluster id, which must be
 * one.
 */
export const presentCounters = (world: World): object => {
  const nothing = {
    etcdMade: 0,
    recoveries: 0,
    members: 0,
    quorumLosses: 0,
    budgetBreaches: 0,
    mostUnready: 0,
  }
  const clusters = new Map<
    string,
    { id: string; name: string; bootstrapCalls: number } & typeof nothing
  >()
  for (const { state, counters } of world.etcd.all) {
    const { talosId: id, name } = state
    const entry = clusters.get(id) ?? {
      id,
      name,
      bootstrapCalls: world.etcd.callsOf(id),
      ...nothing,
    }
    entry[state.isRecovered ? 'recoveries' : 'etcdMade']++
    entry.members += state.members.length
    entry.quorumLosses += counters.quorumLosses
    entry.budgetBreaches += counters.budgetBreaches
    entry.mostUnready = Math.max(entry.mostUnready, counters.mostUnready)
    clusters.set(id, entry)
  }
  return {
    simulated: true,
    servers: world.machines.map(({ plan, disk }) => ({
      name: plan.name,
      uuid: disk.identity.uuid,
      ...disk.state.counters,
    })),
    clusters: [...clusters.values()],
  }
}
