import { whyNoEtcd } from '../cluster/endpoints.ts'
import { hasFeature } from '../config/versions.ts'
import type { Fault, SlowPhase } from '../fleet/faults.ts'
import { drain } from './kubelet/drain.ts'
import { afterFailure } from './upgrading/fallback.ts'
import { phasesOf } from './stage.ts'
import { TAKES } from './durations.ts'
import type { Machine, ResetOptions } from './machine.ts'

/**
 * Reboots or shuts down (Talos: Sequencer.Reboot, Shutdown). `forced`: the mode FORCE of a reboot,
 * which stops nothing; the mode POWERCYCLE runs every phase and only does without kexec. `stuck`: a
 * wiped disk is never closed, and the machine stays as it is. (machined would restart ten seconds
 * later, `main.go`; this isn't simulated, so that nothing relies on it.)
 */
export const stopSequence = async (
  machine: Machine,
  { kind, forced = false }: { kind: 'reboot' | 'shutdown'; forced?: boolean },
  actorId: string,
  power: AbortSignal,
): Promise<'boot' | 'off' | 'stuck'> => {
  const { stage } = machine
  stage.startSequence(kind, actorId, forced ? 1 : phasesOf(machine, kind))
  if (kind === 'shutdown') {
    stage.phase('storeShutdown', actorId)
    stage.phase('drain', actorId)
    await drain(machine, power)
  }
  if (forced) machine.goDark({ gently: true })
  else {
    stage.phase('cleanup', actorId)
    stopPods(machine)
    const problem =
      (await preShutdown(machine, actorId, power)) ?? (await stopAll(machine, actorId, power))
    if (problem !== null) {
      const number = stage.phaseNumber
      stage.failSequence(problem, actorId)
      machine.journal.kernel(
        `[talos] ${kind} failed: error running phase ${number} in ${kind} sequence: task 1/1: failed, ${problem}`,
      )
      if (machine.wiped !== null) return 'stuck'
      await afterFailure(machine, power)
      // A shutdown that has failed switches the machine off all the same (Talos:
      // StoreShutdownEmergency).
      return kind === 'shutdown' ? 'off' : 'boot'
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
 * The phases before `stopEverything`. Talos's API answers meanwhile. Returns why one failed, or
 * null. `goesOn`: the others follow it, as in a reset (Talos: stopAllPhaselist; Sequencer.Upgrade;
 * phaseListErrorHandler).
 */
export const stopAll = async (
  machine: Machine,
  actorId: string,
  power: AbortSignal,
  { goesOn = false } = {},
): Promise<string | null> => {
  const { stage } = machine
  const isNew = hasFeature(machine.talosMinor, 'stopContainers')
  if (isNew) {
    stage.phase('denyNewServices', actorId)
    const problem = await slowPhase(machine, 'stopContainers', actorId, power)
    if (problem !== null && !goesOn) return problem
  }
  for (const phase of [
    'stopServices',
    'umount',
    'unmountBind',
    ...(isNew ? ['unmountPromotable'] : []),
    'unmountSystem',
  ])
    stage.phase(phase, actorId)
  stopKubelet(machine)
  finish(machine, ({ id }) => !CORE.has(id))
  return slowPhase(machine, 'volumeFinalize', actorId, power)
}

/** Stops the static pods (Talos: StopAllPods). */
export const stopPods = (machine: Machine): void => {
  machine.apiServerUp = false
  machine.staticPods.clear()
  machine.ports.kubernetes.close({ gently: true })
}

/** From here on the node no longer reports to Kubernetes, and nobody gets a certificate. */
const stopKubelet = (machine: Machine): void => {
  if (machine.nodeReady) machine.lastHeartbeat = machine.world.clock.elapsed()
  machine.nodeReady = false
  machine.isRegistered = false
  machine.ports.trustd.close({ gently: true })
  machine.ports.etcdHttp.close({ gently: true })
}

/** Runs the hooks of extensions, and stops D-Bus. Returns why a hook failed, or null. */
export const preShutdown = async (
  machine: Machine,
  actorId: string,
  power: AbortSignal,
): Promise<string | null> => {
  if (hasFeature(machine.talosMinor, 'stopContainers')) {
    const problem = await slowPhase(machine, 'preShutdown', actorId, power)
    if (problem !== null) return problem
  }
  machine.stage.phase('dbus', actorId)
  return null
}

const TASKS: Readonly<Record<SlowPhase, string>> = {
  preShutdown: 'preShutdownServices',
  stopContainers: 'teardownContainerLifecycle',
  volumeFinalize: 'teardownLifecycle',
}

/**
 * Runs a phase that waits for others, by default for no time, and returns why it failed, or null.
 * Talos gives up after five minutes (teardownLifecycleResource). A system volume that was wiped is
 * never closed.
 */
const slowPhase = async (
  machine: Machine,
  phase: SlowPhase,
  actorId: string,
  power: AbortSignal,
): Promise<string | null> => {
  machine.stage.phase(phase, actorId, TASKS[phase])
  const failed =
    phase === 'preShutdown'
      ? '1 error occurred:\n\t* service "ext-simulated" pre-shutdown hook failed: exit status 1\n\n'
      : 'context deadline exceeded'
  if (phase === 'volumeFinalize' && machine.wiped !== null) {
    await machine.takes(TAKES.closeVolumes, power)
    return failed
  }
  const fault = machine.disk.state.faults.find(
    (one): one is Extract<Fault, { kind: 'slow-stop' }> =>
      one.kind === 'slow-stop' && one.phase === phase,
  )
  if (!fault) return null
  machine.strike('slow-stop', (one) => one === fault)
  await machine.takes(fault.ms, power)
  return fault.fails ? failed : null
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
  stage.startSequence('reset', actorId, phasesOf(machine, 'reset'))
  if (wish.graceful) {
    stage.phase('drain', actorId)
    // A failed drain is only logged here (Talos: taskErrorHandler).
    await drain(machine, power)
  }
  stage.phase('cleanup', actorId)
  stopPods(machine)
  // Only a hook of an extension that fails and a failure to leave etcd abort a reset. The machine
  // then reboots unchanged.
  let refusal = await preShutdown(machine, actorId, power)
  if (refusal === null && wish.graceful && disk.state.etcd) {
    stage.phase('leave', actorId)
    refusal = await leaveEtcd(machine, power)
  }
  if (refusal !== null) {
    stage.failSequence(refusal, actorId)
    await afterFailure(machine, power)
    return 'boot'
  }
  stage.phase('preReset', actorId)
  // A failure of these phases is only logged (Talos: phaseListErrorHandler).
  await stopAll(machine, actorId, power, { goesOn: true })
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
