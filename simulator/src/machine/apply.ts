import { hasFeature } from '../config/versions.ts'
import { Code, ConnectError } from '@connectrpc/connect'
import { ApplyConfigurationRequest_Mode as Mode } from '#talos/proto/gen/machine/machine_pb.ts'
import { lineDiff } from '../config/diff.ts'
import { judgeConfig } from '../config/judge.ts'
import { multiError } from '../config/multi-error.ts'
import { ConfigError, loadConfig, type Loaded } from '../config/load.ts'
import { rebootReasons } from '../config/reboot.ts'
import { TAKES } from './durations.ts'
import { goDuration, revertAfter, storeSoon } from './trial.ts'
import type { Machine } from './machine.ts'

export interface ApplyRequest {
  text: string
  mode: Mode
  dryRun: boolean
  /** How long a configuration applied with mode `try` stays active before it is reverted. */
  tryForMs: number
  isAdmin: boolean
}

export interface Applied {
  mode: Mode
  details: string
  warnings: string[]
}

const refuse = (message: string, code: Code): never => {
  throw new ConnectError(message, code)
}

/**
 * Applies a configuration like Talos's ApplyConfiguration (Talos:
 * internal/app/machined/internal/server/v1alpha1/v1alpha1_server.go). STATE has an accepted
 * configuration some time after the promise has resolved. Rejects with a `ConnectError` with the
 * code of a real server.
 */
export const applyConfiguration = async (
  machine: Machine,
  request: ApplyRequest,
): Promise<Applied> => {
  // The small maintenance server of Talos up to 1.12 has its own error messages (Talos 1.12:
  // internal/app/maintenance/server.go).
  const isSmall =
    machine.mode === 'maintenance' && !hasFeature(machine.talosMinor, 'readerInMaintenance')
  if (isSmall && (request.mode === Mode.NO_REBOOT || request.mode === Mode.STAGED)) {
    refuse(
      `apply configuration --mode='${request.mode === Mode.STAGED ? 'staged' : 'no-reboot'}' is not supported in maintenance mode`,
      Code.Unimplemented,
    )
  }
  // A machine with a complete configuration is no longer in maintenance, even while its maintenance
  // API still answers. Then only admins may apply.
  const inMaintenance = !machine.config?.node
  if (!isSmall && !inMaintenance && !request.isAdmin)
    refuse('not authorized', Code.PermissionDenied)
  // Every other mode ends a trial, up to Talos 1.13 also of a dry run and of a configuration that is
  // refused: the timer is stopped before anything is read. The configuration on trial then stays
  // active until the next boot.
  const cancelsLate = hasFeature(machine.talosMinor, 'cancelsTrialLate')
  if (!isSmall && !cancelsLate) cancelTrial(machine, request)
  const isForGood = request.mode === Mode.NO_REBOOT && !request.dryRun
  if (!inMaintenance && isForGood && machine.strike('refuse-apply'))
    refuse(multiError(['the simulation was told to refuse it']), Code.InvalidArgument)
  const loaded = load(machine, request.text, isSmall)
  if (!inMaintenance && !isSmall && !loaded.v1alpha1)
    refuse(
      "the applied machine configuration doesn't contain v1alpha1 config, did you mean to patch the machine config instead?",
      Code.InvalidArgument,
    )
  const hasMode = request.mode !== Mode.REBOOT || !hasFeature(machine.talosMinor, 'neverReboots')
  if (!inMaintenance && !hasMode)
    refuse(
      'the REBOOT mode is not supported, please use AUTO or NO_REBOOT modes instead',
      Code.Unimplemented,
    )
  const { errors, warnings, by } = judgeConfig(loaded, {
    talosVersion: machine.talosVersion,
    installed: machine.disk.state.installed !== null,
    disks: machine.hardware.disks,
  })
  const small =
    by === 'validation'
      ? 'configuration validation failed: '
      : 'runtime configuration validation failed: '
  if (errors.length > 0)
    refuse(`${isSmall ? small : ''}${multiError(errors)}`, Code.InvalidArgument)
  if (isSmall) return applyToSmallServer(machine, request, loaded, warnings)
  if (cancelsLate && !request.dryRun) cancelTrial(machine, request)
  return inMaintenance
    ? applyInMaintenance(machine, request, loaded, warnings)
    : applyWhileRunning(machine, request, loaded, warnings)
}

const cancelTrial = (machine: Machine, { mode }: ApplyRequest): void => {
  if (mode === Mode.TRY) return
  machine.cancelTry?.()
  machine.cancelTry = null
}

const load = (machine: Machine, text: string, isSmall: boolean): Loaded => {
  try {
    return loadConfig(text, machine.talosMinor)
  } catch (cause) {
    if (!(cause instanceof ConfigError)) throw cause
    const [message, code] = isSmall
      ? [`failed to parse config: ${cause.message}`, Code.Unknown]
      : [cause.message, Code.InvalidArgument]
    throw new ConnectError(message, code, undefined, undefined, cause)
  }
}

const DETAILS = {
  now: 'Applied configuration without a reboot',
  reboot: 'Applied configuration with a reboot',
  staged: 'Staged configuration to be applied after the next reboot',
}

const dryRun = (machine: Machine, { text }: ApplyRequest, details: string, mode: Mode): Applied => {
  const diff = lineDiff(machine.config?.text ?? '', text)
  return {
    mode,
    warnings: [],
    details: `Dry run summary:\n${details} (skipped in dry-run).\n${diff === '' ? 'No changes.' : `Config diff:\n\n${diff}`}`,
  }
}

/**
 * Stores the configuration in the STATE partition, if Talos is installed. Otherwise the installer
 * writes it in its last step.
 */
const keep = (machine: Machine, text: string): void => {
  machine.disk.change((state) => {
    state.counters.applies++
  })
  if (machine.disk.state.installed) storeSoon(machine, text)
}

const take = (machine: Machine, request: ApplyRequest, loaded: Loaded): void => {
  const config = machine.activate(request.text)
  machine.journal.kernel(
    `[talos] received a ${loaded.v1alpha1 ? 'complete' : 'partial'} configuration`,
  )
  if (config.node) machine.onConfig?.(config)
}

const applyInMaintenance = (
  machine: Machine,
  request: ApplyRequest,
  loaded: Loaded,
  warnings: string[],
): Applied => {
  const mode =
    request.mode === Mode.REBOOT || request.mode === Mode.AUTO ? Mode.NO_REBOOT : request.mode
  const details = mode === Mode.STAGED ? DETAILS.staged : DETAILS.now
  if (request.dryRun) return dryRun(machine, request, details, mode)
  if (mode === Mode.TRY) startTrial(machine, request.tryForMs)
  else keep(machine, request.text)
  if (mode !== Mode.STAGED) take(machine, request, loaded)
  return { mode, warnings, details: mode === Mode.TRY ? onTrial(details, request) : details }
}

const onTrial = (details: string, { tryForMs }: ApplyRequest): string =>
  `${details}\nThe config is applied in 'try' mode and will be automatically reverted back in ${goDuration(tryForMs)}`

/**
 * Nothing is stored. A second trial replaces the timer of the first, and goes back to the first
 * trial. A machine without a configuration has nothing to go back to: machined of Talos 1.13.9 panics
 * (Talos issue 14044).
 */
const startTrial = (machine: Machine, tryForMs: number): void => {
  machine.disk.count('applies')
  machine.cancelTry?.()
  const before = machine.config?.text
  machine.cancelTry = revertAfter(machine, tryForMs, () =>
    before === undefined ? withoutConfig(machine) : takeOver(machine, before),
  )
}

/** What a machine does at the end of a trial before which it had no configuration. */
const withoutConfig = async (machine: Machine): Promise<void> => {
  if (!hasFeature(machine.talosMinor, 'endsTrialInMaintenance')) return panic(machine)
  // A machine that boots with it goes on.
  if (!machine.config?.node) machine.config = null
  machine.journal.changed()
}

/** The first process ends, and the kernel restarts the machine. */
const panic = async (machine: Machine): Promise<void> => {
  machine.journal.kernel('panic: runtime error: invalid memory address or nil pointer dereference')
  await machine.lifecycle.powerOff()
  machine.lifecycle.powerOn()
}

/**
 * The small maintenance server reports neither mode nor details, and accepts only one
 * configuration. A second call waits until this server has stopped, and then fails.
 */
const applyToSmallServer = async (
  machine: Machine,
  request: ApplyRequest,
  loaded: Loaded,
  warnings: string[],
): Promise<Applied> => {
  if (request.dryRun)
    return {
      mode: Mode.REBOOT,
      warnings,
      details:
        'Dry run summary:\nNode is running in maintenance mode and does not have a config yet.',
    }
  if (machine.config?.node) {
    const mode = machine.mode
    while (machine.mode === mode) await machine.takes(TAKES.leaveMaintenance)
    refuse('transport is closing', Code.Unavailable)
  }
  keep(machine, request.text)
  take(machine, request, loaded)
  return { mode: Mode.REBOOT, warnings, details: '' }
}

const applyWhileRunning = async (
  machine: Machine,
  request: ApplyRequest,
  loaded: Loaded,
  warnings: string[],
): Promise<Applied> => {
  if (!machine.config) return refuse('not authorized', Code.PermissionDenied)
  const reasons = hasFeature(machine.talosMinor, 'neverReboots')
    ? []
    : rebootReasons(machine.config.loaded, loaded)
  const mode =
    request.mode === Mode.AUTO
      ? reasons.length === 0
        ? Mode.NO_REBOOT
        : Mode.REBOOT
      : request.mode
  if ((mode === Mode.NO_REBOOT || mode === Mode.TRY) && reasons.length > 0)
    refuse(
      `this config change can't be applied in immediate mode\ndiff: ${reasons.join(', ')}`,
      Code.InvalidArgument,
    )
  const details =
    mode === Mode.REBOOT
      ? `${DETAILS.reboot}${reasons.length > 0 ? `: ${reasons.join(', ')}` : ''}`
      : mode === Mode.STAGED
        ? DETAILS.staged
        : DETAILS.now
  if (request.dryRun) return dryRun(machine, request, details, mode)

  if (mode === Mode.TRY) startTrial(machine, request.tryForMs)
  else keep(machine, request.text)
  if (mode === Mode.REBOOT) {
    machine.rebootPending = true
    machine.lifecycle.request({ kind: 'reboot' })
  }
  if (mode === Mode.NO_REBOOT || mode === Mode.TRY) await takeOver(machine, request.text)
  return { mode, warnings, details: mode === Mode.TRY ? onTrial(details, request) : details }
}

const takeOver = async (machine: Machine, text: string): Promise<void> => {
  machine.activate(text)
  machine.onSettings?.()
  for (const other of machine.world.machines)
    if (
      other !== machine &&
      other.onPeer &&
      other.config?.node?.cluster.id === machine.config?.node?.cluster.id
    )
      other.onPeer()
  machine.evaluate()
  machine.announceAddress()
  const { hasAddress } = machine
  if (!hasAddress)
    machine.journal.kernel(
      `[talos] removed address ${machine.plan.address}/16 from ${machine.managementLink.name}: the configuration doesn't ask for it`,
    )
  await machine.answerThere()
  await machine.world.api.renewSecured(machine)
  machine.ports.kubernetes.renew()
  machine.ports.trustd.renew()
}
