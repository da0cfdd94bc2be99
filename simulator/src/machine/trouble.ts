import type { Fault, Stage } from '../fleet/faults.ts'
import type { PortTrouble } from '../wire/port.ts'
import type { Machine } from './machine.ts'

type PortFault = Extract<Fault, { kind: 'refuse' | 'hang' | 'drip' | 'garbage' }>

const isPortFault = (fault: Fault): fault is PortFault =>
  ['refuse', 'hang', 'drip', 'garbage'].includes(fault.kind)

const isDue = (fault: Fault, stage: Stage): boolean =>
  !('stage' in fault) || fault.stage === undefined || fault.stage === stage

/**
 * Adds a fault to a running machine. The fault takes effect at once if the machine has already
 * reached the fault's stage.
 */
export const addFault = async (machine: Machine, fault: Fault): Promise<void> => {
  machine.disk.change((state) => state.faults.push(fault))
  await faultsAt(machine, machine.stage.stage)
}

export const clearFaults = async (machine: Machine): Promise<void> => {
  machine.disk.change((state) => (state.faults = []))
  machine.lateDisks = 0
  machine.reread()
  await machine.retime()
  await setPorts(machine)
}

/** Triggers the faults of a stage. Called when a machine reaches the stage. */
export const faultsAt = async (machine: Machine, stage: Stage): Promise<void> => {
  for (const fault of machine.disk.state.faults.filter((candidate) => isDue(candidate, stage))) {
    if (fault.kind === 'vanish') {
      drop(machine, fault)
      // Not awaited, because the machine would wait for its own end.
      void machine.lifecycle.powerOff()
      return
    }
    const member = machine.disk.state.etcd?.member
    if (fault.kind === 'etcd-alarm' && member !== undefined) {
      machine.etcdCluster?.raise(member, fault.alarm, fault.db_bytes)
      drop(machine, fault)
    }
    if (fault.kind === 'disks') {
      changeDisks(machine, fault.what)
      drop(machine, fault)
    }
    if (fault.kind === 'identity') {
      machine.disk.change((state) => (state.identitySalt = `${state.identitySalt}+`))
      drop(machine, fault)
      machine.journal.changed()
    }
    if ('stage' in fault && fault.stage !== undefined && isPortFault(fault))
      machine.disk.change(() => delete fault.stage)
    if ('for_ms' in fault && fault.for_ms !== undefined) endLater(machine, fault, fault.for_ms)
  }
  await machine.retime()
  await setPorts(machine)
}

const drop = (machine: Machine, fault: Fault): void =>
  machine.disk.change((state) => {
    state.faults = state.faults.filter((candidate) => candidate !== fault)
  })

const ending = new WeakSet<Fault>()

const endLater = (machine: Machine, fault: Fault, afterMs: number): void => {
  if (ending.has(fault)) return
  ending.add(fault)
  const end = async (): Promise<void> => {
    await machine.world.clock.sleep(afterMs)
    drop(machine, fault)
    await machine.retime()
    await setPorts(machine)
  }
  void end()
}

/** Talos recognises its disk by content, whatever the disk's name. */
const changeDisks = (machine: Machine, what: 'swapped' | 'lost' | 'filled'): void => {
  const on = machine.hardware.disks.find(({ name }) => name === machine.systemDisk)
  machine.disk.change((state) => {
    if (what !== 'filled') state.disks = what
    else
      for (const disk of machine.hardware.disks)
        if (disk !== on) (state.contents ??= {})[disk.name] ??= 'ext4'
  })
  machine.reread()
  const now = machine.hardware.disks.find(({ wwid }) => wwid === on?.wwid)
  if (now)
    machine.disk.change(
      ({ installed }) => installed && Object.assign(installed, { disk: now.name }),
    )
  machine.journal.changed()
}

const setPorts = async (machine: Machine): Promise<void> => {
  for (const name of ['apid', 'trustd', 'kubernetes', 'etcdHttp'] as const) {
    const fault = machine.disk.state.faults.find(
      (candidate): candidate is PortFault =>
        isPortFault(candidate) &&
        candidate.stage === undefined &&
        (candidate.port === undefined || candidate.port === name),
    )
    await machine.ports[name].trouble((fault?.kind ?? null) satisfies PortTrouble)
  }
}
