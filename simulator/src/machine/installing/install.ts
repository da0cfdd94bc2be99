import type { Installation } from '../../config/settings.ts'
import { matchingDisks } from '../../config/cel/cel.ts'
import { matchDisk } from '../../config/disk-selector.ts'
import { hasFeature, imageTag, isTalosVersion } from '../../config/versions.ts'
import type { Fault } from '../../fleet/faults.ts'
import type { Disk } from '../../fleet/hardware.ts'
import type { ActiveConfig } from '../active.ts'
import { TAKES } from '../durations.ts'
import type { Machine } from '../machine.ts'
import { forgetDevice, pathOf } from '../volumes/state.ts'
import { failureOutput, grubError } from './installer.ts'

/** What STATE gets of an active configuration: nothing of one that is on trial. */
export const persistent = (machine: Machine, { text }: ActiveConfig): string | null =>
  machine.cancelTry === null ? text : null

/**
 * The installation of the install sequence, which ends in a reboot (Talos: Sequencer.Install).
 */
export const installSequence = async (
  machine: Machine,
  config: ActiveConfig,
  signal: AbortSignal,
): Promise<void> => {
  const { stage, journal } = machine
  const wanted = config.node!.install
  stage.startSequence('install')
  stage.phase('env')
  stage.phase('install')
  if (!wanted) return fail(machine, signal, 'the configuration has no install section')
  const disk = diskOf(machine, wanted)
  if (!disk)
    return fail(
      machine,
      signal,
      wanted.selector
        ? `no disks matched the expression: ${JSON.stringify(wanted.selector)}`
        : `lstat ${wanted.disk}: no such file or directory`,
    )
  journal.kernel(`[talos] task install (1/1): installing Talos to disk /dev/${disk.name}`)
  const problem = await installTalos(machine, disk, imageOf(machine, wanted), config, signal)
  if (problem !== null) return fail(machine, signal, problem)
  journal.kernel('[talos] task install (1/1): install successful')
  for (const phase of ['meta', 'saveMeta', 'volumeFinalize', 'stopEverything', 'kexec'])
    stage.phase(phase)
  await machine.takes(TAKES.kexec, signal)
  machine.goDark()
}

/** The default is of the running version, since Talos 1.14 from the image factory. */
const imageOf = (machine: Machine, { image }: Installation): string =>
  image ||
  (hasFeature(machine.talosMinor, 'factoryInstallersOnly')
    ? `factory.talos.dev/metal-installer/${machine.schematic}:${machine.talosVersion}`
    : `ghcr.io/siderolabs/installer:${machine.talosVersion}`)

/** The disk that a configuration names, or the first that its expression selects. */
const diskOf = (
  { hardware: { disks } }: Machine,
  { isUnattended, selector, match, disk }: Installation,
): Disk | undefined => {
  if (isUnattended) return matchingDisks(match, disks)[0]
  // `diskSelector` takes precedence over `disk` (Talos: v1alpha1_sequencer_tasks.go, Install).
  return selector
    ? disks.find((candidate) => matchDisk(selector, candidate))
    : disks.find(({ name, wwid }) => matchesPath(disk, name, wwid))
}

/** Pulls the installer and runs it. Returns why that failed, or null. */
const installTalos = async (
  machine: Machine,
  disk: Disk,
  image: string,
  config: ActiveConfig,
  signal: AbortSignal,
): Promise<string | null> => {
  const { journal } = machine
  const problem = await pullInstaller(machine, image, signal)
  if (problem !== null) return problem
  const version = imageTag(image)!
  journal.kernel(`running Talos installer ${version}`)
  await machine.takes(TAKES.partition, signal)
  if (
    machine.strike(
      'fail-install',
      ({ when }) => when === undefined || when === 'before-partitioning',
    )
  )
    return exit(
      machine,
      version,
      `failed to zero blockdevice /dev/${disk.name}: input/output error`,
    )
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
      version,
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
    forgetDevice(state, pathOf(disk.name))
    delete state.half
    state.config = persistent(machine, config)
    state.counters.installs++
  })
  return null
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
const exit = (machine: Machine, version: string, error: string): string => {
  for (const line of failureOutput(error, version)) machine.journal.kernel(line)
  return 'task "upgrade" failed: exit code 1'
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

type Told = Omit<NonNullable<Machine['unattendedInstall']>, 'version'>

/** Pauses of a controller between two failed attempts, in ms (cosi-project/runtime). */
const FIRST_RETRY_MS = 500
const MOST_RETRY_MS = 60_000

/**
 * The installation by `UnattendedInstallConfig`, while the machine boots (Talos:
 * controllers/runtime/unattended_install.go). It doesn't know the stage `installing`, and tries
 * again by itself.
 */
export const unattendedInstall = async (machine: Machine, signal: AbortSignal): Promise<void> => {
  const says = (what: string, fields: Readonly<Record<string, string>> = {}): void => {
    const all = {
      component: 'controller-runtime',
      controller: 'runtime.UnattendedInstallController',
      ...fields,
    }
    const told = Object.entries(all).map(([name, value]) => `"${name}": ${JSON.stringify(value)}`)
    machine.journal.kernel(`[talos] ${what} {${told.join(', ')}}`)
  }
  const report = (status: Told | null): void => {
    const { unattendedInstall: last } = machine
    if (last !== null && last.phase === status?.phase && last.error === status.error) return
    machine.unattendedInstall = status && { ...status, version: (last?.version ?? 0) + 1 }
    machine.evaluate()
    machine.journal.changed()
  }
  const wants = (): Installation | null => {
    const wanted = machine.config?.node?.install ?? null
    return wanted?.isUnattended === true ? wanted : null
  }
  /** Another configuration, or an installation by a caller. */
  const news = async (): Promise<void> => {
    const { config, hasMeta } = machine
    await machine.until(() => machine.config !== config || machine.hasMeta !== hasMeta, signal)
  }
  for (let attempt = 0; ; attempt++) {
    const wanted = wants()
    if (!wanted) {
      report(null)
      await news()
      continue
    }
    if (machine.hasMeta) return report({ phase: 'installed', error: '' })
    const disk = diskOf(machine, wanted)
    if (!disk) {
      report({ phase: 'pending', error: 'no disk matched the selector' })
      await news()
      continue
    }
    report({ phase: 'installing', error: '' })
    const image = imageOf(machine, wanted)
    says('installing Talos', { disk: `/dev/${disk.name}`, image })
    const problem = await installTalos(machine, disk, image, machine.config!, signal)
    if (problem === null) {
      says('install successful')
      machine.hasMeta = true
      if (!wanted.restarts) return report({ phase: 'installed', error: '' })
      report({ phase: 'waiting-for-reboot', error: '' })
      says('requesting reboot after successful install')
      machine.lifecycle.request({ kind: 'reboot' })
      return
    }
    machine.disk.count('failedInstalls')
    // What the installer has left of META counts as an installation.
    machine.hasMeta = machine.disk.state.installed !== null
    report({ phase: 'failed', error: problem })
    // Controllers that end with an error are started again (cosi-project/runtime, run.go).
    says('controller failed', { error: `failed to run installer: ${problem}` })
    await machine.takes(Math.min(MOST_RETRY_MS, FIRST_RETRY_MS * 1.5 ** attempt), signal)
  }
}
