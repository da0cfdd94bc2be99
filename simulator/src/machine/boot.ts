import { ConfigLoadErrorEventSchema } from '#talos/proto/gen/machine/machine_pb.ts'
import type { ActiveConfig } from './active.ts'
import type { Machine } from './machine.ts'
import { modelName } from '../fleet/hardware.ts'
import { acquireConfig } from './acquire.ts'
import { afterFailure, dropFallback } from './upgrading/fallback.ts'
import { extensionServices, runExtensionServices } from './extension-services.ts'
import { runEtcd, runTrustd, runVirtualAddresses } from './control-plane.ts'
import { runKubelet } from './kubelet/kubelet.ts'
import { runStaticPods } from './kubelet/static-pods.ts'
import { Interrupted } from '../clock.ts'
import { siteProblem } from './site.ts'
import { bootProblem } from '../config/judge.ts'
import { hasFeature } from '../config/versions.ts'
import { TAKES } from './durations.ts'
import { limitOf } from './patience.ts'
import { installSequence, persistent, unattendedInstall } from './installing/install.ts'
import { rebuildArrays, settleVolumes } from './volumes/settle.ts'
import { carryOutStaged, revertsUpgrade } from './upgrading/upgrade.ts'
import { runLoadBalancer } from '../kubernetes/balancing/controller.ts'
import { runPrograms } from '../kubernetes/programs.ts'
import { runWorkloads } from '../kubernetes/workloads/run.ts'

/**
 * One boot: initialize, install if Talos isn't on the disk, then boot (Talos:
 * internal/app/machined/pkg/runtime/v1alpha1/v1alpha1_sequencer.go). Returns when the machine has
 * to reboot; rejects with `Interrupted` when it is interrupted. `instant`: the machine enters
 * maintenance without delay, as if it had already been on.
 */
export const boot = async (
  machine: Machine,
  signal: AbortSignal,
  { instant }: { instant: boolean },
): Promise<void> => {
  machine.beginBoot()
  if (!instant) {
    machine.disk.count('boots')
    await machine.takes(TAKES.firmware, signal)
  }
  greet(machine)
  inBackground(machine, signal)(findDisks(machine, signal))
  machine.stage.startSequence('initialize')
  for (const phase of [
    'machined',
    'config',
    'systemRequirements',
    'earlyServices',
    'usb',
    'meta',
    'dashboard',
  ])
    machine.stage.phase(phase)
  if (!instant) await machine.takes(TAKES.initialize, signal)
  for (const id of ['machined', 'containerd', 'apid', 'syslogd', 'udevd', 'auditd', 'dashboard'])
    machine.services.start(id)
  machine.announceAddress()
  machine.stage.phase('config')
  const stored = machine.disk.state.config
  if (stored !== null) await untilLoadable(machine, stored, signal)
  const found = stored === null ? await acquireConfig(machine, signal) : machine.activate(stored)
  const config = found?.node ? found : await maintenance(machine, signal)
  machine.stage.stopSequence()
  if (await revertsUpgrade(machine, signal)) return
  // Since Talos 1.14 a machine boots without an installation if a document installs, or nothing.
  // Then it doesn't install a staged upgrade either (Talos: v1alpha1_sequencer.go, Install).
  const { install } = config.node!
  const installs =
    !hasFeature(machine.talosMinor, 'unattendedInstall') || install?.isUnattended === false
  if (machine.disk.state.staged && installs) return carryOutStaged(machine, signal)
  const background = inBackground(machine, signal)
  background(machine.world.api.openSecured(machine, signal))

  if (!machine.hasMeta && installs) return installSequence(machine, config, signal)
  machine.stage.skipInstall()
  if (hasFeature(machine.talosMinor, 'unattendedInstall'))
    background(unattendedInstall(machine, signal))
  await start(machine, config, signal, background)
}

/** Pauses between two attempts to load a stored configuration, in ms. */
const FIRST_RETRY_MS = 500
const MOST_RETRY_MS = 60_000

/**
 * A machine that can't load its stored configuration tries again for good, and doesn't enter
 * maintenance (Talos: controllers/config/acquire.go).
 */
const untilLoadable = async (
  machine: Machine,
  stored: string,
  signal: AbortSignal,
): Promise<void> => {
  const { talosVersion, hardware } = machine
  const circumstances = { talosVersion, installed: true, disks: hardware.disks }
  const problem = bootProblem(stored, circumstances)
  if (problem === null) return
  for (let attempt = 0; ; attempt++) {
    machine.journal.kernel(
      `[talos] controller failed {"component": "controller-runtime", "controller": "config.AcquireController", "error": ${JSON.stringify(problem)}}`,
    )
    machine.journal.event(ConfigLoadErrorEventSchema, { error: problem })
    await machine.takes(Math.min(MOST_RETRY_MS, FIRST_RETRY_MS * 1.5 ** attempt), signal)
  }
}

const greet = (machine: Machine): void => {
  const { journal, plan } = machine
  const { uuid, serial } = machine.disk.identity
  journal.kernel('Linux version 6.18.5-talos (simulated) #1 SMP PREEMPT_DYNAMIC', 'kern', 'notice')
  journal.kernel(
    `DMI: ${modelName(machine.plan.model)}, UUID ${uuid}, serial ${serial}`,
    'kern',
    'info',
  )
  journal.kernel(
    '*** This is a SIMULATED server: no hardware is behind its reports ***',
    'kern',
    'warning',
  )
  journal.kernel(
    `[talos] talos ${machine.talosVersion} on ${machine.bootedFromDisk ? 'disk' : 'boot media'}, platform metal, ${plan.name}`,
  )
}

/**
 * The fault `late-disks`: the disks beside the system disk appear one after another. Talos lists
 * what the kernel knows, and follows its events (Talos: controllers/block/devices.go).
 */
const findDisks = async (machine: Machine, signal: AbortSignal): Promise<void> => {
  const msOf = () =>
    machine.disk.state.faults.find((fault) => fault.kind === 'late-disks')?.ms ?? null
  const know = (late: number): void => {
    machine.lateDisks = late
    machine.reread()
    settleVolumes(machine)
    machine.journal.changed()
  }
  if (msOf() === null && machine.lateDisks === 0) return
  machine.lateDisks = 0
  machine.reread()
  if (msOf() !== null) know(machine.hardware.disks.length - 1)
  while (machine.lateDisks > 0) {
    const ms = msOf()
    if (ms !== null) await machine.looksAgainAfter(ms, signal)
    know(msOf() === null ? 0 : Math.max(0, machine.lateDisks - 1))
  }
}

/** The fault `slow-boot`: so long, in ms, the machine stays in the stage `booting`. */
const slowBootMs = ({ disk }: Machine): number =>
  disk.state.faults.find((fault) => fault.kind === 'slow-boot')?.ms ?? 0

/** Waits in maintenance for a complete configuration. */
const maintenance = async (machine: Machine, signal: AbortSignal): Promise<ActiveConfig> => {
  // The answer to the announcement has replaced the documents that gave the machine its address.
  while (siteProblem(machine) !== null) await machine.takes(TAKES.initialize, signal)
  await machine.world.api.openMaintenance(machine)
  machine.stage.task('runningMaintenance', true)
  machine.journal.kernel(`[talos] this machine is reachable at: ${machine.plan.address}`)
  machine.journal.kernel(
    '[talos] upload configuration using talosctl: talosctl apply-config --insecure --nodes ' +
      machine.plan.address +
      ' --file <config.yaml>',
  )
  const config = await new Promise<ActiveConfig>((resolve, reject) => {
    const onAbort = (): void => {
      machine.onConfig = null
      reject(new Interrupted())
    }
    if (signal.aborted) return onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    machine.onConfig = (arrived) => {
      signal.removeEventListener('abort', onAbort)
      machine.onConfig = null
      resolve(arrived)
    }
  })
  await machine.takes(TAKES.leaveMaintenance, signal)
  machine.stage.task('runningMaintenance', false)
  machine.announceAddress()
  return config
}

const start = async (
  machine: Machine,
  config: ActiveConfig,
  signal: AbortSignal,
  background: (work: Promise<void>) => void,
): Promise<void> => {
  const { stage } = machine
  const isControlPlane = config.node!.role === 'controlplane'
  // If Talos was installed before the configuration arrived, the machine boots directly from
  // maintenance, so the configuration is stored here.
  const persist = (): void => {
    const stored = persistent(machine, machine.config ?? config)
    if (machine.disk.state.installed && machine.disk.state.config !== stored && stored !== null)
      machine.disk.change((state) => (state.config = stored))
  }
  persist()
  stage.startSequence('boot')
  machine.evaluate()
  for (const phase of ['memorySizeCheck', 'diskSizeCheck', 'env', 'dbus', 'ephemeral', 'userSetup'])
    stage.phase(phase)
  await machine.takes(TAKES.boot + slowBootMs(machine), signal)
  // The disk may have been wiped after the check. Without a system disk there are no volumes, so
  // the boot waits for the disk.
  await machine.until(() => machine.systemDisk !== null, signal)
  // A caller may have installed Talos meanwhile.
  persist()
  // CRI waits for an installation that is going on, and a reboot may follow it (Talos:
  // services/cri.go).
  await machine.until(
    () => machine.unattendedInstall === null || machine.unattendedInstall.phase === 'installed',
    signal,
  )
  machine.hasEphemeral = true
  settleVolumes(machine)
  background(rebuildArrays(machine, signal))
  stage.phase('startEverything')
  machine.service('cri', 'Starting', 'Starting service')
  machine.service('kubelet', 'Waiting', 'Waiting for service "cri" to be "up"')
  if (isControlPlane) machine.service('etcd', 'Starting', 'Starting service')
  if (isControlPlane)
    machine.service(
      'etcd',
      'Waiting',
      'Waiting for service "cri" to be "up", time sync, network, etcd spec',
    )
  await machine.takes(TAKES.cri, signal)
  machine.service('cri', 'Running', 'Health check successful', true)
  if (!machine.isTimeSynced) {
    for (const id of ['kubelet', ...(isControlPlane ? ['etcd', 'trustd'] : [])])
      machine.service(id, 'Waiting', 'Waiting for time sync')
    await machine.until(() => machine.isTimeSynced, signal)
  }
  if (isControlPlane) {
    for (const run of [
      runTrustd,
      runEtcd,
      runStaticPods,
      runVirtualAddresses,
      runLoadBalancer,
      runPrograms,
      runWorkloads,
    ])
      background(run(machine, signal))
  }
  background(runKubelet(machine, signal))
  background(runExtensionServices(machine, signal))
  const needed = [
    'cri',
    'kubelet',
    'apid',
    ...(isControlPlane ? ['etcd', 'trustd'] : []),
    ...extensionServices(machine),
  ]
  if (!(await areUp(machine, needed, signal))) return
  stage.stopSequence()
  machine.evaluate()
  await machine.until(() => stage.ready, signal)
  dropFallback(machine)
  await machine.until(() => false, signal)
}

/**
 * Waits until all services run. Talos gives up after 70 minutes, and reboots (Talos:
 * v1alpha1_sequencer_tasks.go, StartAllServices; main.go, handle).
 */
const areUp = async (
  machine: Machine,
  needed: readonly string[],
  signal: AbortSignal,
): Promise<boolean> => {
  const { clock } = machine.world
  const until = clock.elapsed() + limitOf(machine, 'boot')
  const isOver = new AbortController()
  const ends = AbortSignal.any([signal, isOver.signal])
  const isDone = (): boolean =>
    needed.every(
      (id) =>
        machine.services.isUp(id) ||
        // A service of an extension may end after its work.
        (id.startsWith('ext-') && machine.services.get(id)?.state === 'Finished'),
    )
  await Promise.race([
    machine.until(isDone, ends),
    clock.sleep(until - clock.elapsed(), ends),
  ]).finally(() => isOver.abort())
  if (isDone()) return true
  machine.stage.failSequence('context deadline exceeded')
  await afterFailure(machine, signal)
  return false
}

/**
 * Does work in parallel to the boot sequence. An interruption ends the work; any other error is a
 * bug of the simulator and is reported.
 */
const inBackground =
  (machine: Machine, signal: AbortSignal) =>
  (work: Promise<void>): void =>
    void work.catch((cause: unknown) => {
      if (cause instanceof Interrupted || signal.aborted) return
      const message = cause instanceof Error ? cause.message : String(cause)
      machine.world.say(`${machine.plan.name}: ${message}`)
      machine.journal.kernel(`[talos] controller failed: ${message}`)
    })
