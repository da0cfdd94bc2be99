import { Code, ConnectError, type HandlerContext } from '@connectrpc/connect'
import { durationMs } from '@bufbuild/protobuf/wkt'
import { RebootRequest_Mode, ResetRequest_WipeMode } from '#talos/proto/gen/machine/machine_pb.ts'
import { hasFeature } from '../config/versions.ts'
import { applyConfiguration } from '../machine/apply.ts'
import type { Machine } from '../machine/machine.ts'
import { pullImage } from '../machine/images.ts'
import { leaveEtcd } from '../machine/sequences.ts'
import { revert } from '../machine/upgrading/fallback.ts'
import { refusesUpgrade } from '../machine/upgrading/upgrade.ts'
import { issue } from './certificates.ts'
import {
  onControlPlane,
  type MachineCalls,
  PEER,
  type Peer,
  machineOf,
  answer,
  errorOf,
} from './peer.ts'

const TRY_FOR_MS = 60_000
const TIME_SYNC_WAIT_MS = 5_000
const YEAR_MS = 365 * 24 * 3_600_000
const REBOOTS: Record<RebootRequest_Mode, 'default' | 'powercycle' | 'force'> = {
  [RebootRequest_Mode.DEFAULT]: 'default',
  [RebootRequest_Mode.POWERCYCLE]: 'powercycle',
  [RebootRequest_Mode.FORCE]: 'force',
}
const META_KEYS = new Set([0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x11])

const peerOf = (context: HandlerContext): Peer => context.values.get(PEER)!
const applying = new WeakSet<Machine>()

/** Calls that change a machine. */
export const changeCalls: MachineCalls = {
  async applyConfiguration(request, context) {
    const { machine, roles } = peerOf(context)
    if (hasFeature(machine.talosMinor, 'readerInMaintenance') || machine.mode !== 'maintenance') {
      if (applying.has(machine))
        throw new ConnectError(
          'another apply configuration is already in progress',
          Code.FailedPrecondition,
        )
      if (machine.rebootPending)
        throw new ConnectError(
          'configuration was already applied and node is rebooting, cannot apply more configuration changes until next reboot',
          Code.FailedPrecondition,
        )
    }
    applying.add(machine)
    try {
      const { mode, details, warnings } = await applyConfiguration(machine, {
        text: decode(request.data),
        mode: request.mode,
        dryRun: request.dryRun,
        tryForMs: request.tryModeTimeout ? durationMs(request.tryModeTimeout) : TRY_FOR_MS,
        isAdmin: roles.includes('os:admin'),
      })
      return answer({ mode, modeDetails: details, warnings })
    } finally {
      applying.delete(machine)
    }
  },

  async bootstrap({ recoverEtcd, recoverSkipHashCheck }, context) {
    const machine = machineOf(context)
    machine.disk.count('bootstrapCalls')
    onControlPlane(machine, 'bootstrap')
    machine.world.etcd.countCall(machine.config!.node!.cluster.id)
    const { unattendedInstall } = machine
    const isInstalling = unattendedInstall !== null && unattendedInstall.phase !== 'installed'
    if (!machine.services.isUp('cri') || isInstalling)
      throw new ConnectError('bootstrap is not available yet', Code.FailedPrecondition)
    if (
      hasFeature(machine.talosMinor, 'unattendedInstall') &&
      machine.config!.node!.cluster.etcdCa === null
    )
      throw new ConnectError(
        'etcd is not configured, bootstrap is not possible',
        Code.InvalidArgument,
      )
    if (!machine.isTimeSynced) await machine.takes(TIME_SYNC_WAIT_MS, context.signal)
    if (!machine.isTimeSynced)
      throw new ConnectError('time is not in sync yet', Code.FailedPrecondition)
    if (machine.disk.state.etcd !== null)
      throw new ConnectError('etcd data directory is not empty', Code.AlreadyExists)
    if (!machine.bootstrapEtcd)
      throw new ConnectError('bootstrap is not available yet', Code.FailedPrecondition)
    // Talos answers before etcd runs: an image that can't be pulled, or a snapshot that etcd
    // refuses, is only seen in the state of the service.
    machine.bootstrapEtcd({ recovers: recoverEtcd, skipsHashCheck: recoverSkipHashCheck })
    return answer({})
  },

  reboot: ({ mode }, context) =>
    answer({
      actorId: machineOf(context).lifecycle.request({ kind: 'reboot', mode: REBOOTS[mode] }),
    }),

  shutdown: (_request, context) =>
    answer({ actorId: machineOf(context).lifecycle.request({ kind: 'shutdown' }) }),

  reset({ graceful, reboot, mode, systemPartitionsToWipe, userDisksToWipe }, context) {
    const machine = machineOf(context)
    const { ALL, SYSTEM_DISK, USER_DISKS } = ResetRequest_WipeMode
    if (userDisksToWipe.length > 0 && mode === SYSTEM_DISK)
      throw new ConnectError(
        "reset failed: invalid input, wipe mode SYSTEM_DISK doesn't support UserDisksToWipe parameter",
        Code.Unknown,
      )
    if (mode === USER_DISKS && systemPartitionsToWipe.length > 0)
      throw new ConnectError(
        "reset failed: invalid input, wipe mode USER_DISKS doesn't support SystemPartitionsToWipe parameter",
        Code.Unknown,
      )
    for (const path of userDisksToWipe) {
      const disk = machine.hardware.disks.find(({ name }) => path === `/dev/${name}`)
      if (!disk)
        throw new ConnectError(`reset user disk failed: device ${path} wasn't found`, Code.Unknown)
      if (disk.name === machine.systemDisk)
        throw new ConnectError(
          `reset user disk failed: device ${path} is the system disk`,
          Code.Unknown,
        )
    }
    for (const { label } of systemPartitionsToWipe) {
      if (!['STATE', 'EPHEMERAL', 'META', 'EFI', 'BOOT'].includes(label))
        throw new ConnectError(
          `failed to get volume status with label "${label}": resource doesn't exist`,
          Code.Unknown,
        )
      if (machine.disk.state.installed === null || (label === 'EPHEMERAL' && !machine.hasEphemeral))
        throw new ConnectError(`failed to reset: volume "${label}" is not located`, Code.Unknown)
    }
    const partitions =
      mode === USER_DISKS
        ? []
        : systemPartitionsToWipe.length > 0
          ? systemPartitionsToWipe.filter(({ wipe }) => wipe).map(({ label }) => label)
          : null
    if (mode === ALL || mode === USER_DISKS)
      for (const path of userDisksToWipe) machine.journal.kernel(`[talos] will wipe ${path}`)
    return answer({
      actorId: machine.lifecycle.request({
        kind: 'reset',
        reset: { graceful, reboot, partitions },
      }),
    })
  },

  async upgrade({ image, preserve, stage, force }, context) {
    const machine = machineOf(context)
    if (!machine.disk.state.installed)
      throw new ConnectError('Talos is not installed', Code.FailedPrecondition)
    const problem = await pullImage(machine, image, { signal: context.signal, retries: 1 })
    if (problem !== null)
      throw new ConnectError(
        `error validating installer image "${image}": ${problem}`,
        Code.Unknown,
      )
    const refusal =
      force || preserve || machine.config?.node?.role !== 'controlplane'
        ? null
        : await refusesUpgrade(machine, context.signal)
    if (refusal !== null) throw new ConnectError(refusal, Code.Unknown)
    if (stage) machine.disk.change((state) => (state.staged = { image }))
    return answer({
      ack: 'Upgrade request received',
      actorId: machine.lifecycle.request({ kind: 'upgrade', image, stage }),
    })
  },

  rollback(_request, context) {
    const machine = machineOf(context)
    if (!machine.disk.state.installed)
      throw new ConnectError('system disk not found', Code.FailedPrecondition)
    if (!machine.disk.state.previous) throw new ConnectError('previous UKI not found', Code.Unknown)
    revert(machine)
    machine.lifecycle.request({ kind: 'reboot' })
    return answer({})
  },

  serviceStart: async ({ id }, context) =>
    answer({ resp: await change(peerOf(context), id, 'start', context.signal) }),
  serviceStop: async ({ id }, context) =>
    answer({ resp: await change(peerOf(context), id, 'stop', context.signal) }),
  serviceRestart: async ({ id }, context) =>
    answer({ resp: await change(peerOf(context), id, 'restart', context.signal) }),

  async etcdLeaveCluster(_request, context) {
    const machine = machineOf(context)
    onControlPlane(machine, 'etcd leave')
    const refusal = await leaveEtcd(machine, context.signal)
    if (refusal) throw new ConnectError(refusal, Code.Unknown)
    return answer({})
  },

  async generateClientConfiguration({ roles, crtTtl }, context) {
    const machine = machineOf(context)
    onControlPlane(machine, 'generate client configuration')
    const node = machine.config!.node!
    const wanted = roles.filter((role) => /^os:(admin|operator|reader|etcd:backup)$/.test(role))
    const { crt, key } = issue(node.talosCa!, {
      commonName: '',
      organizations: wanted,
      usages: ['clientAuth'],
      lifetimeMs: crtTtl ? durationMs(crtTtl) : YEAR_MS,
      now: machine.world.clock.now(),
    })
    const base64 = (text: string): string => Buffer.from(text).toString('base64')
    const talosconfig = `context: ${node.cluster.name}\ncontexts:\n    ${node.cluster.name}:\n        endpoints: []\n        ca: ${base64(node.talosCa!.crt)}\n        crt: ${base64(crt)}\n        key: ${base64(key)}\n`
    const encode = (text: string): Uint8Array => new TextEncoder().encode(text)
    return answer({
      ca: encode(node.talosCa!.crt),
      crt: encode(crt),
      key: encode(key),
      talosconfig: encode(talosconfig),
    })
  },

  metaWrite({ key, value }, context) {
    const machine = machineOf(context)
    if (!META_KEYS.has(key)) throw new ConnectError(`unknown meta key ${key}`, Code.NotFound)
    machine.disk.change((state) => (state.meta[metaKey(key)] = new TextDecoder().decode(value)))
    machine.journal.changed()
    return answer({})
  },

  metaDelete({ key }, context) {
    const machine = machineOf(context)
    if (!(metaKey(key) in machine.disk.state.meta))
      throw new ConnectError(`meta key ${metaKey(key)} not found`, Code.NotFound)
    machine.disk.change((state) => delete state.meta[metaKey(key)])
    machine.journal.changed()
    return answer({})
  },
}

const metaKey = (key: number): string => `0x${key.toString(16).padStart(2, '0')}`

const decode = (data: Uint8Array): string => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(data)
  } catch (cause) {
    throw errorOf('decode error: yaml: invalid leading UTF-8 octet', Code.InvalidArgument, cause)
  }
}

/**
 * Service operations that Talos allows over the API (internal/app/machined/pkg/system/system.go,
 * services/kubelet.go): only the kubelet can be started and restarted, and none of the simulated
 * services can be stopped. An operation without effect succeeds.
 */
const change = async (
  { machine }: Peer,
  id: string,
  action: 'start' | 'stop' | 'restart',
  signal: AbortSignal,
): Promise<string> => {
  if (!machine.services.get(id)) throw new ConnectError(`service "${id}" not defined`, Code.Unknown)
  const isRunning = machine.services.isRunning(id)
  if (action === 'restart' || isRunning === (action === 'stop')) {
    const needed = action === 'restart' && !isRunning ? 'start' : action
    if (id !== 'kubelet' || action === 'stop')
      throw new ConnectError(
        `service "${id}" doesn't support ${needed} operation via API`,
        Code.Unknown,
      )
    machine.restartKubelet?.()
    await machine.until(() => machine.services.get(id)?.state !== 'Stopping', signal)
  }
  return `Service "${id}" ${{ start: 'started', stop: 'stopped', restart: 'restarted' }[action]}`
}
