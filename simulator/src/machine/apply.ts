import { Code, ConnectError } from '@connectrpc/connect'
import { ApplyConfigurationRequest_Mode as Mode } from '#talos/proto/gen/machine/machine_pb.ts'
import { Interrupted } from '../clock.ts'
import { lineDiff } from '../config/diff.ts'
import { judgeConfig, multiError } from '../config/judge.ts'
import { ConfigError, loadConfig, type Loaded } from '../config/load.ts'
import { rebootReasons } from '../config/reboot.ts'
import type { Machine } from './machine.ts'

export interface ApplyRequest {
  text: string
  mode: Mode
  dryRun: boolean
  /** How long a tried configuration holds before it is taken back. */
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
 * Takes a configuration, by the rules of Talos's ApplyConfiguration (Talos: internal/app/machined/internal/server/v1alpha1/v1alpha1_server.go).
 * What was accepted is on the disk, if there is one to hold it, before this resolves. Rejects with a `ConnectError` of the code that a real server answers.
 */
export const applyConfiguration = async (machine: Machine, request: ApplyRequest): Promise<Applied> => {
  const inMaintenance = machine.mode === 'maintenance'
  const loaded = load(machine, request.text)
  const { errors, warnings } = judgeConfig(loaded, {
    talosVersion: machine.talosVersion,
    installed: machine.disk.state.installed !== null,
    disks: machine.hardware.disks,
  })
  if (errors.length > 0) refuse(`configuration validation failed: ${multiError(errors)}`, Code.InvalidArgument)
  return inMaintenance ? applyInMaintenance(machine, request, loaded, warnings) : applyWhileRunning(machine, request, loaded, warnings)
}

const load = (machine: Machine, text: string): Loaded => {
  try {
    return loadConfig(text, machine.talosMinor)
  } catch (cause) {
    if (cause instanceof ConfigError) throw new ConnectError(`failed to parse config: ${cause.message}`, Code.InvalidArgument, undefined, undefined, cause)
    throw cause
  }
}

const DETAILS = {
  now: 'Applied configuration without a reboot',
  reboot: 'Applied configuration with a reboot',
  staged: 'Staged configuration to be applied after the next reboot',
}

const dryRun = (machine: Machine, { text }: ApplyRequest, details: string, mode: Mode): Applied => {
  const diff = lineDiff(machine.config?.text ?? '', text)
  return { mode, warnings: [], details: `Dry run summary:\n${details} (skipped in dry-run).\n${diff === '' ? 'No changes.' : `Config diff:\n\n${diff}`}` }
}

const applyInMaintenance = (machine: Machine, request: ApplyRequest, loaded: Loaded, warnings: string[]): Applied => {
  const isOld = machine.talosMinor < 13
  if (isOld && (request.mode === Mode.NO_REBOOT || request.mode === Mode.STAGED))
    refuse('apply configuration mode is not supported in maintenance mode', Code.Unimplemented)
  if (machine.config?.node) refuse('configuration is already being applied', Code.FailedPrecondition)
  const mode = request.mode === Mode.REBOOT || request.mode === Mode.AUTO ? Mode.NO_REBOOT : request.mode
  if (request.dryRun) return dryRun(machine, request, DETAILS.now, mode)
  machine.disk.change((state) => {
    state.counters.applies++
    // Where Talos is installed there is a STATE partition to keep it; otherwise only the installer's last act writes it.
    if (state.installed) state.config = request.text
  })
  const config = machine.activate(request.text)
  machine.journal.kernel(`[talos] received a ${loaded.v1alpha1 ? 'complete' : 'partial'} configuration`)
  if (config.node) machine.onConfig?.(config)
  return { mode, warnings, details: DETAILS.now }
}

const applyWhileRunning = async (machine: Machine, request: ApplyRequest, loaded: Loaded, warnings: string[]): Promise<Applied> => {
  if (!request.isAdmin) refuse('not authorized', Code.PermissionDenied)
  if (!loaded.v1alpha1) refuse("the applied machine configuration doesn't contain v1alpha1 config", Code.InvalidArgument)
  if (!machine.config || machine.disk.state.installed === null) return refuse('configuration is already being applied', Code.FailedPrecondition)
  if (machine.rebootPending) refuse('the machine is about to reboot into another configuration', Code.FailedPrecondition)
  const reasons = rebootReasons(machine.config.loaded, loaded)
  const mode = request.mode === Mode.AUTO ? (reasons.length === 0 ? Mode.NO_REBOOT : Mode.REBOOT) : request.mode
  if ((mode === Mode.NO_REBOOT || mode === Mode.TRY) && reasons.length > 0)
    refuse(`this config change can't be applied in immediate mode\ndiff: ${reasons.join(', ')}`, Code.InvalidArgument)
  const details =
    mode === Mode.REBOOT ? `${DETAILS.reboot}${reasons.length > 0 ? `: ${reasons.join(', ')}` : ''}` : mode === Mode.STAGED ? DETAILS.staged : DETAILS.now
  if (request.dryRun) return dryRun(machine, request, details, mode)

  machine.disk.change((state) => {
    state.counters.applies++
    if (mode !== Mode.TRY) state.config = request.text
  })
  if (mode === Mode.REBOOT) {
    machine.rebootPending = true
    machine.lifecycle.request({ kind: 'reboot' })
  }
  if (mode === Mode.NO_REBOOT || mode === Mode.TRY) {
    machine.cancelTry?.()
    const before = machine.config.text
    await takeOver(machine, request.text)
    if (mode === Mode.TRY) revertLater(machine, before, request.tryForMs)
  }
  return {
    mode,
    warnings,
    details:
      mode === Mode.TRY
        ? `${details}\nThe config is applied in 'try' mode and will be automatically reverted back in ${Math.round(request.tryForMs / 1000)}s`
        : details,
  }
}

const takeOver = async (machine: Machine, text: string): Promise<void> => {
  machine.activate(text)
  machine.evaluate()
  machine.announceAddress()
  if (machine.hasAddress) {
    await machine.world.api.renewSecured(machine)
    machine.ports.kubernetes.renew()
    machine.ports.trustd.renew()
  } else {
    // The reply still goes out; after it the machine has left the network.
    await machine.world.api.openSecured(machine, new AbortController().signal)
    machine.ports.trustd.close({ gently: true })
    machine.ports.kubernetes.close({ gently: true })
  }
}

const revertLater = (machine: Machine, before: string, afterMs: number): void => {
  const revert = new AbortController()
  machine.cancelTry = () => revert.abort()
  machine.world.clock
    .sleep(afterMs, revert.signal)
    .then(() => {
      machine.cancelTry = null
      machine.journal.kernel('[talos] reverting the configuration that was applied in try mode')
      return takeOver(machine, before)
    })
    .catch((cause: unknown) => {
      if (!(cause instanceof Interrupted)) machine.world.say(`${machine.plan.name}: ${String(cause)}`)
    })
}
