import { whyNoEtcd } from '../../cluster/endpoints.ts'
import type { EtcdCluster } from '../../cluster/etcd.ts'
import { imageTag } from '../../config/versions.ts'
import { afterFailure, hasFallback, UPGRADE_TAG } from './fallback.ts'
import { drain } from '../kubelet/drain.ts'
import { TAKES } from '../durations.ts'
import { failureOutput, grubError } from '../installing/installer.ts'
import { installerProblem } from '../installing/preflight.ts'
import type { Machine } from '../machine.ts'
import { preShutdown, stopAll, stopPods, stopServices } from '../sequences.ts'
import { phasesOf } from '../stage.ts'

/**
 * Why a control plane refuses an upgrade because of etcd, or null (Talos: v1alpha1_server.go,
 * Upgrade).
 */
export const refusesUpgrade = async (
  machine: Machine,
  signal: AbortSignal,
): Promise<string | null> => {
  const cluster = machine.etcdCluster
  const missing = cluster ? await whyNoEtcd(machine, cluster, signal) : null
  if (missing !== null) return `failed to create etcd client: ${missing}`
  const problem = cluster?.hasQuorum ? unfitForUpgrade(cluster) : 'context deadline exceeded'
  return problem === null ? null : `error validating etcd for upgrade: ${problem}`
}

/** Talos: internal/pkg/etcd/etcd.go, ValidateForUpgrade. */
const unfitForUpgrade = (cluster: EtcdCluster): string | null => {
  const { members } = cluster.state
  if (members.length === 2)
    return `etcd member count(${members.length}) is insufficient to maintain quorum if upgrade commences`
  const silent = members.find(({ name }) => name === '')
  if (silent)
    return `etcd member ${silent.id} is not started, all members must be running to perform an upgrade`
  const unhealthy = members.find((member) => !cluster.isAlive(member))
  return unhealthy
    ? `etcd member ${unhealthy.id} is not healthy; all members must be healthy to perform an upgrade: context deadline exceeded`
    : null
}

/**
 * Drains the node, installs another Talos version and boots it (Talos: Sequencer.Upgrade). The
 * caller has checked the image.
 */
export const upgradeSequence = async (
  machine: Machine,
  image: string,
  actorId: string,
  power: AbortSignal,
): Promise<'boot'> => {
  const { stage } = machine
  stage.startSequence('upgrade', actorId, phasesOf(machine, 'upgrade'))
  // A machine in maintenance has no node and no services to stop (Talos:
  // Sequencer.MaintenanceUpgrade).
  if (machine.config?.node) {
    stage.phase('drain', actorId)
    const problem = await drain(machine, power)
    if (problem !== null) return fail(machine, problem, actorId, power)
    stage.phase('cleanup', actorId)
    stopPods(machine)
    const hanging =
      (await preShutdown(machine, actorId, power)) ?? (await stopAll(machine, actorId, power))
    if (hanging !== null) return fail(machine, hanging, actorId, power)
  }
  stage.phase('upgrade', actorId)
  machine.journal.kernel(`[talos] task upgrade (1/1): performing upgrade via "${image}"`)
  if ((await install(machine, image, power)) !== 0)
    return fail(machine, 'task "upgrade" failed: exit code 1', actorId, power)
  for (const phase of ['meta', 'kexec', 'stopEverything']) stage.phase(phase, actorId)
  if (machine.config?.node) await stopServices(machine, power)
  stage.phase('reboot', actorId)
  await machine.takes(TAKES.kexec, power)
  return 'boot'
}

/** Reboots. The next boot installs the image (Talos: Sequencer.StageUpgrade). */
export const stagedUpgradeSequence = async (
  machine: Machine,
  _image: string,
  actorId: string,
  power: AbortSignal,
): Promise<'boot'> => {
  machine.stage.startSequence('upgrade', actorId, phasesOf(machine, 'reboot'))
  machine.stage.phase('cleanup', actorId)
  stopPods(machine)
  const hanging =
    (await preShutdown(machine, actorId, power)) ?? (await stopAll(machine, actorId, power))
  if (hanging !== null) return fail(machine, hanging, actorId, power)
  machine.stage.phase('stopEverything', actorId, 'stopAllServices')
  await stopServices(machine, power)
  machine.stage.phase('reboot', actorId)
  return 'boot'
}

/**
 * Installs a staged upgrade and ends the boot. A failure leaves the installed version (Talos:
 * v1alpha1_sequencer.go, Install with IsInstallStaged).
 */
export const carryOutStaged = async (machine: Machine, signal: AbortSignal): Promise<void> => {
  const { image } = machine.disk.state.staged!
  machine.stage.startSequence('install')
  machine.stage.phase('install')
  // The tag is removed when it is read, so a failure isn't repeated.
  machine.disk.change((state) => delete state.staged)
  if ((await install(machine, image, signal)) !== 0)
    return void (await fail(machine, 'task "upgrade" failed: exit code 1', '', signal))
  machine.stage.phase('kexec')
  await machine.takes(TAKES.kexec, signal)
  machine.goDark()
}

/**
 * Runs the installer for an upgrade. Returns its exit code, and prints its lines: by default to the
 * kernel's log.
 */
export const install = async (
  machine: Machine,
  image: string,
  signal: AbortSignal,
  print = (line: string): void => machine.journal.kernel(line),
): Promise<0 | 1> => {
  print(`running Talos installer ${imageTag(image) ?? ''}`)
  const problem = installerProblem(machine, image)
  if (problem !== null) {
    for (const line of failureOutput(problem, imageTag(image) ?? '')) print(line)
    return 1
  }
  await machine.takes(TAKES.writeImage, signal)
  if (machine.strike('fail-upgrade')) {
    for (const line of failureOutput(grubError(machine.systemDisk ?? ''), imageTag(image) ?? ''))
      print(line)
    return 1
  }
  while (machine.disk.state.faults.some(({ kind }) => kind === 'hang-upgrade'))
    await machine.looksAgainAfter(TAKES.etcdLook, signal)
  machine.disk.change((state) => {
    const { installed } = state
    if (!installed) return
    const { version, image: before } = installed
    state.previous = { version, image: before }
    state.installed = { ...installed, version: imageTag(image) ?? version, image }
    state.meta[UPGRADE_TAG] = 'A'
    state.counters.upgrades++
  })
  return 0
}

const fail = async (
  machine: Machine,
  message: string,
  actorId: string,
  signal: AbortSignal,
): Promise<'boot'> => {
  machine.stage.failSequence(message, actorId)
  await afterFailure(machine, signal)
  return 'boot'
}

/**
 * The fault of an upgraded machine that can't boot: Talos switches back to the previous entry and
 * reboots (Talos: internal/app/machined/revert.go).
 */
export const revertsUpgrade = async (machine: Machine, signal: AbortSignal): Promise<boolean> => {
  if (!hasFallback(machine) || !machine.strike('bad-boot')) return false
  machine.stage.failSequence('failed to start the system')
  await afterFailure(machine, signal)
  return true
}
