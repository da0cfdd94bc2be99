import type { ActiveConfig } from './active.ts'
import type { Machine } from './machine.ts'
import { modelName } from '../fleet/hardware.ts'
import { acquireConfig } from './acquire.ts'
import { runEtcd, runTrustd, runVirtualAddresses } from './control-plane.ts'
import { runKubelet } from './kubelet/kubelet.ts'
import { runStaticPods } from './kubelet/static-pods.ts'
import { Interrupted } from '../clock.ts'
import { isTalosVersion, imageTag } from '../config/versions.ts'
import { matchDisk } from '../config/disk-selector.ts'
import type { Fault } from '../fleet/faults.ts'
import { TAKES } from './durations.ts'
import { failureOutput, grubError } from './installing/installer.ts'
import { carryOutStaged, dropFallback, revertsUpgrade } from './upgrade.ts'
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
  const found = stored === null ? await acquireConfig(machine, signal) : machine.activate(stored)
  const config = found?.node ? found : await maintenance(machine, signal)
  machine.stage.stopSequence()
  if (await revertsUpgrade(machine, signal)) return
  if (machine.disk.state.staged) return carryOutStaged(machine, signal)
  const background = inBackground(machine, signal)
  background(machine.world.api.openSecured(machine, signal))

  if (!machine.hasMeta) return install(machine, config, signal)
  machine.stage.skipInstall()
  await start(machine, config, signal, background)
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

/** What STATE gets of an active configuration: nothing of one that is on trial. */
const persistent = (machine: Machine, { text }: ActiveConfig): string | null =>
  machine.cancelTry === null ? text : null

/** Waits in maintenance for a complete configuration. */
const maintenance = async (machine: Machine, signal: AbortSignal): Promise<ActiveConfig> => {
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

const install = async (
  machine: Machine,
  config: ActiveConfig,
  signal: AbortSignal,
): Promise<void> => {
  const { stage, journal } = machine
  const node = config.node!
  stage.startSequence('install')
  stage.phase('env')
  stage.phase('install')
  const image = node.install.image || `ghcr.io/siderolabs/installer:${machine.talosVersion}`
  // `diskSelector` takes precedence over `disk` (Talos: v1alpha1_sequencer_tasks.go, Install).
  const { selector } = node.install
  const disk = selector
    ? machine.hardware.disks.find((candidate) => matchDisk(selector, candidate))
    : machine.hardware.disks.find(({ name, wwid }) => matchesPath(node.install.disk, name, wwid))
  if (!disk)
    return fail(
      machine,
      signal,
      selector
        ? `no disks matched the expression: ${JSON.stringify(selector)}`
        : `lstat ${node.install.disk}: no such file or directory`,
    )
  journal.kernel(`[talos] task install (1/1): installing Talos to disk /dev/${disk.name}`)
  const problem = await pullInstaller(machine, image, signal)
  if (problem !== null) return fail(machine, signal, problem)
  const version = imageTag(image)!
  journal.kernel(`running Talos installer ${version}`)
  await machine.takes(TAKES.partition, signal)
  if (
    machine.strike(
      'fail-install',
      ({ when }) => when === undefined || when === 'before-partitioning',
    )
  )
    return exit(machine, signal, `failed to zero blockdevice /dev/${disk.name}: input/output error`)
  for (const label of ['EFI', 'META'])
    journal.kernel(
      `created ${label} (${label === 'EFI' ? 'C12A7328-F81F-11D2-BA4B-00A0C93EC93B' : '0FC63DAF-8483-4772-8E79-3D69D8477DE4'})`,
    )
  // Controllers log too, whatever the sequence does.
  journal.kernel(
    '[talos] volume status {"component": "controller-runtime", "controller": "block.VolumeManagerController", "volume": "META", "phase": "missing -> ready"}',
  )
  const half = machine.strike('fail-install', ({ when }) => when === 'boot-loader')
    ? 'without-boot-loader'
    : machine.strike('fail-install')
      ? 'unformatted'
      : undefined
  if (half !== undefined) {
    machine.disk.change((state) => {
      state.installed = { version: '', disk: disk.name, image: '' }
      state.half = half
    })
    return exit(
      machine,
      signal,
      half === 'unformatted'
        ? `failed to install bootloader: write /dev/${disk.name}: input/output error`
        : grubError(disk.name),
    )
  }
  await machine.until(
    () => !machine.disk.state.faults.some(({ kind }) => kind === 'endless-install'),
    signal,
  )
  await machine.takes(TAKES.writeImage, signal)
  // The installer's last step writes image and configuration together. From here on the machine
  // boots from this disk.
  machine.disk.change((state) => {
    state.installed = { version, disk: disk.name, image }
    if (state.contents) delete state.contents[disk.name]
    delete state.half
    state.config = persistent(machine, config)
    state.counters.installs++
  })
  journal.kernel('[talos] task install (1/1): install successful')
  for (const phase of ['meta', 'saveMeta', 'volumeFinalize', 'stopEverything', 'kexec'])
    stage.phase(phase)
  await machine.takes(TAKES.kexec, signal)
  machine.goDark()
}

/**
 * Pulls the installer as Talos does, with its progress in the log. Returns why that failed, or null
 * (Talos: internal/pkg/install/install.go, containers/image).
 */
const pullInstaller = async (
  machine: Machine,
  image: string,
  signal: AbortSignal,
): Promise<string | null> => {
  const { journal } = machine
  const says = (what: string): void => journal.kernel(`[talos] pulling image ${image}: ${what}...`)
  const has = (kind: Fault['kind']): boolean =>
    machine.disk.state.faults.some((fault) => fault.kind === kind)
  journal.kernel(`[talos] pulling "${image}"`)
  if (!isTalosVersion(imageTag(image) ?? '')) {
    await machine.takes(TAKES.pullInstaller, signal)
    return `failed to pull image "${image}": ${image}: not found`
  }
  const patience = machine.world.clock.elapsed() + TAKES.pullPatience
  for (let attempt = 0; ; attempt++) {
    // Each attempt begins with this line, also those that fail.
    says('starting')
    await machine.takes(TAKES.pullInstaller / 2, signal)
    if (!has('no-image')) break
    const problem = `failed to pull image "${image}": failed to resolve image: dial tcp: i/o timeout`
    if (machine.world.clock.elapsed() > patience) return problem
    // go-retry logs a repeated error only once; the pull logs every failed request
    // (internal/pkg/containers/image/pull.go: logrus without quotes).
    if (attempt === 0) journal.kernel(`[talos] retrying error: ${problem}`)
    else
      journal.kernel(
        `level=info msg=fetch failed error=failed to do request: dial tcp: i/o timeout host=${image.split('/')[0]} image=${image}`,
      )
    await machine.takes(TAKES.pullRetry * Math.min(8, 2 ** attempt), signal)
  }
  says('downloading 1 layers (29 MiB/50 MiB) (58.00%)')
  await machine.until(() => !has('endless-pull'), signal)
  await machine.takes(TAKES.pullInstaller / 2, signal)
  says('extracting')
  return null
}

/**
 * The installer ends with an error, and machined reports its exit (Talos:
 * internal/pkg/install/install.go).
 */
const exit = (machine: Machine, signal: AbortSignal, error: string): Promise<void> => {
  for (const line of failureOutput(error)) machine.journal.kernel(line)
  return fail(machine, signal, 'task "upgrade" failed: exit code 1')
}

const fail = async (machine: Machine, signal: AbortSignal, message: string): Promise<void> => {
  machine.disk.count('failedInstalls')
  machine.stage.failSequence(message)
  machine.journal.kernel('[talos] rebooting in 10 seconds')
  await machine.takes(TAKES.failedSequence, signal)
}

const matchesPath = (path: string, name: string, wwid: string): boolean =>
  path === `/dev/${name}` ||
  path === `/dev/disk/by-id/wwn-0x${wwid.split('.')[1]}` ||
  path === `/dev/disk/by-id/nvme-${wwid}`

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
  const stored = persistent(machine, config)
  if (machine.disk.state.installed && machine.disk.state.config !== stored && stored !== null)
    machine.disk.change((state) => (state.config = stored))
  stage.startSequence('boot')
  machine.evaluate()
  for (const phase of ['memorySizeCheck', 'diskSizeCheck', 'env', 'dbus', 'ephemeral', 'userSetup'])
    stage.phase(phase)
  await machine.takes(TAKES.boot, signal)
  // The disk may have been wiped after the check. Without a system disk there are no volumes, so
  // the boot waits for the disk.
  await machine.until(() => machine.systemDisk !== null, signal)
  machine.hasEphemeral = true
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
  const needed = ['cri', 'kubelet', 'apid', ...(isControlPlane ? ['etcd', 'trustd'] : [])]
  await machine.until(() => needed.every((id) => machine.services.isUp(id)), signal)
  stage.stopSequence()
  machine.evaluate()
  await machine.until(() => stage.ready, signal)
  dropFallback(machine)
  await machine.until(() => false, signal)
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
