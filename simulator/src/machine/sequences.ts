import { whyNoEtcd } from '../cluster/endpoints.ts'
import { drain } from './kubelet/drain.ts'
import { TAKES } from './durations.ts'
import type { Machine, ResetOptions } from './machine.ts'

/**
 * Reboots or shuts down (Talos: Sequencer.Reboot, Shutdown). `forced`: the mode FORCE of a reboot,
 * which stops nothing; the mode POWERCYCLE runs every phase and only does without kexec. `stuck`: a
 * phase failed, and the machine stays as it is. (machined would restart ten seconds later,
 * `main.go`; this isn't simulated, so that nothing relies on it.)
 */
export const stopSequence = async (
  machine: Machine,
  { kind, forced = false }: { kind: 'reboot' | 'shutdown'; forced?: boolean },
  actorId: string,
  power: AbortSignal,
): Promise<'boot' | 'off' | 'stuck'> => {
  const { stage } = machine
  stage.startSequence(kind, actorId, forced ? 1 : undefined)
  if (kind === 'shutdown') {
    stage.phase('drain', actorId)
    await drain(machine, power)
  }
  if (forced) machine.goDark({ gently: true })
  else {
    for (const phase of [
      'cleanup',
      'dbus',
      'stopServices',
      'umount',
      'unmountBind',
      'unmountSystem',
    ])
      stage.phase(phase, actorId)
    finish(machine, ({ id }) => !CORE.has(id))
    const problem = await closeVolumes(machine, actorId, power)
    if (problem !== null) {
      stage.failSequence(problem, actorId)
      machine.journal.kernel(
        `[talos] ${kind} failed: error running phase 7 in ${kind} sequence: task 1/1: failed, ${problem}`,
      )
      return 'stuck'
    }
    stage.phase('stopEverything', actorId, 'stopAllServices')
    await stopServices(machine, power)
  }
  stage.phase(kind, actorId)
  if (kind === 'reboot') machine.disk.count('reboots')
  return kind === 'reboot' ? 'boot' : 'off'
}

/** Services that run until the phase `stopEverything` (Talos: StopServicesEphemeral). */
const CORE: ReadonlySet<string> = new Set([
  'machined',
  'containerd',
  'apid',
  'syslogd',
  'udevd',
  'auditd',
  'dashboard',
])

/**
 * Waits until all volumes are closed, and returns why that failed, or null. A system volume that
 * failed is never closed (Talos: TeardownVolumeLifecycle).
 */
const closeVolumes = async (
  machine: Machine,
  actorId: string,
  power: AbortSignal,
): Promise<string | null> => {
  machine.stage.phase('volumeFinalize', actorId, 'teardownLifecycle')
  if (machine.wiped === null) return null
  await machine.takes(TAKES.closeVolumes, power)
  return 'context deadline exceeded'
}

/**
 * Leaves the cluster if the reset is graceful, wipes partitions and disks, and reboots or shuts
 * down (Talos: Sequencer.Reset).
 */
export const resetSequence = async (
  machine: Machine,
  wish: ResetOptions,
  actorId: string,
  power: AbortSignal,
): Promise<'boot' | 'off'> => {
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
    const refusal = await leaveEtcd(machine, power)
    if (refusal) {
      // A failure to leave etcd is the only error that aborts a reset. The machine then reboots
      // unchanged.
      stage.failSequence(refusal, actorId)
      await machine.takes(TAKES.failedSequence, power)
      return 'boot'
    }
  }
  stage.phase('preReset', actorId)
  // A failure of these phases is only logged (Talos: phaseListErrorHandler).
  await closeVolumes(machine, actorId, power)
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
    if (wish.partitions === null || wish.partitions.includes('STATE')) {
      machine.unsaved = null
      state.config = null
    }
    if (wish.partitions === null || wish.partitions.includes('EPHEMERAL')) {
      state.etcd = null
      delete state.kubelet
      // The store of images is on EPHEMERAL.
      machine.images.clear()
    }
    if (wish.partitions?.includes('META')) state.meta = {}
  })
  if (disk.state.etcd === null) disk.dropSnapshot()
  stage.phase(wish.reboot ? 'reboot' : 'shutdown', actorId)
  return wish.reboot ? 'boot' : 'off'
}

/**
 * Removes the machine from its etcd cluster and deletes its data. Returns why the removal fails, or
 * null.
 */
const LEAVE_TRIES = 30

export const leaveEtcd = async (machine: Machine, signal: AbortSignal): Promise<string | null> => {
  const cluster = machine.etcdCluster
  const id = machine.disk.state.etcd?.member
  if (!cluster || !id || !cluster.member(id)) return null
  const missing = await whyNoEtcd(machine, cluster, signal)
  if (missing !== null) return `failed to create etcd client: ${missing}`
  if (cluster.state.members.length === 1)
    return 'failed to leave cluster: etcdserver: cannot remove the last member'
  if (!cluster.hasQuorum)
    return 'failed to leave cluster: etcdserver: request timed out, possibly due to connection lost'
  // Talos tries again for five minutes (Talos: internal/pkg/etcd/etcd.go, LeaveCluster).
  for (let tries = 0; cluster.removeRefusal(id) !== null; tries++) {
    if (tries >= LEAVE_TRIES) return `failed to leave cluster: ${cluster.removeRefusal(id)}`
    await machine.looksAgainAfter(TAKES.leaveRetry, signal)
  }
  cluster.remove(id)
  machine.disk.change((state) => (state.etcd = null))
  return null
}

export const stopServices = async (machine: Machine, power: AbortSignal): Promise<void> => {
  // talosctl's `reset --wait` waits for this task (Talos:
  // cmd/talosctl/pkg/talos/action/tracker.go).
  machine.stage.task('stopAllServices', true)
  finish(machine, ({ id }) => id !== 'machined')
  machine.goDark({ gently: true })
  await machine.takes(TAKES.stopServices, power)
}

const finish = (machine: Machine, isMeant: (service: { readonly id: string }) => boolean): void => {
  for (const service of machine.services.all)
    if (isMeant(service) && machine.services.isRunning(service.id))
      machine.services.set(service.id, 'Finished', 'Service finished successfully')
  machine.etcdCluster?.observeQuorum()
}
