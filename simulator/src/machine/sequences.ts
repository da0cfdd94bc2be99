import { drain } from './drain.ts'
import { TAKES } from './durations.ts'
import type { Machine } from './machine.ts'

export interface ResetOptions {
  graceful: boolean
  reboot: boolean
  /** Labels of system partitions to wipe. Null wipes the whole system disk, an empty list nothing. */
  partitions: string[] | null
}

export const stopSequence = async (machine: Machine, kind: 'reboot' | 'shutdown', actorId: string, power: AbortSignal): Promise<'boot' | 'off'> => {
  machine.stage.startSequence(kind, actorId)
  if (kind === 'reboot') machine.disk.count('reboots')
  if (kind === 'shutdown') {
    machine.stage.phase('drain', actorId)
    await drain(machine, power)
  }
  machine.stage.phase('cleanup', actorId)
  await stopServices(machine, power)
  machine.stage.phase(kind, actorId)
  return kind === 'reboot' ? 'boot' : 'off'
}

/** Leaves the cluster if the reset is graceful, wipes partitions and disks, and reboots or shuts down (Talos: Sequencer.Reset). */
export const resetSequence = async (machine: Machine, wish: ResetOptions, actorId: string, power: AbortSignal): Promise<'boot' | 'off'> => {
  const { stage, disk } = machine
  stage.startSequence('reset', actorId)
  if (wish.graceful) {
    stage.phase('drain', actorId)
    // A failed drain is only logged here (Talos: taskErrorHandler).
    await drain(machine, power)
  }
  stage.phase('cleanup', actorId)
  if (wish.graceful && disk.state.etcd) {
    stage.phase('leave', actorId)
    const refusal = leaveEtcd(machine)
    if (refusal) {
      // A failure to leave etcd is the only error that aborts a reset. The machine then reboots unchanged.
      stage.failSequence(`failed to leave cluster: ${refusal}`, actorId)
      await machine.takes(TAKES.failedSequence, power)
      return 'boot'
    }
  }
  stage.phase('preReset', actorId)
  await stopServices(machine, power)
  stage.phase(wish.partitions === null ? 'reset' : 'resetSpec', actorId)
  await machine.takes(TAKES.wipe, power)
  disk.change((state) => {
    state.counters.resets++
    if (wish.partitions === null) {
      state.installed = null
      delete state.half
      delete state.previous
      delete state.staged
      state.meta = {}
    }
    if (wish.partitions === null || wish.partitions.includes('STATE')) state.config = null
    if (wish.partitions === null || wish.partitions.includes('EPHEMERAL')) {
      state.etcd = null
      delete state.kubelet
    }
    if (wish.partitions?.includes('META')) state.meta = {}
  })
  if (disk.state.etcd === null) disk.dropSnapshot()
  stage.phase(wish.reboot ? 'reboot' : 'shutdown', actorId)
  return wish.reboot ? 'boot' : 'off'
}

/** Removes the machine from its etcd cluster and deletes its data. Returns why the removal fails, or null. */
export const leaveEtcd = (machine: Machine): string | null => {
  const cluster = machine.etcdCluster
  const id = machine.disk.state.etcd?.member
  if (!cluster || !id || !cluster.member(id)) return null
  if (cluster.state.members.length === 1) return 'etcdserver: cannot remove the last member'
  if (!cluster.hasQuorum) return 'etcdserver: request timed out, possibly due to connection lost'
  cluster.remove(id)
  machine.disk.change((state) => (state.etcd = null))
  return null
}

export const stopServices = async (machine: Machine, power: AbortSignal): Promise<void> => {
  // talosctl's `reset --wait` waits for this task (Talos: cmd/talosctl/pkg/talos/action/tracker.go).
  machine.stage.task('stopAllServices', true)
  for (const { id } of machine.services.all)
    if (id !== 'machined' && machine.services.isRunning(id)) machine.services.set(id, 'Finished', 'Service finished successfully')
  machine.etcdCluster?.observeQuorum()
  machine.goDark({ gently: true })
  await machine.takes(TAKES.stopServices, power)
}
