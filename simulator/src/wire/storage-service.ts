import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { Disk_DiskType, type StorageService } from '#talos/proto/gen/storage/storage_pb.ts'
import type { TimeService } from '#talos/proto/gen/time/time_pb.ts'
import { PEER, machineOf, answer } from './peer.ts'
import type { LifecycleService } from '#talos/proto/gen/machine/lifecycle_pb.ts'
import { hasFeature, imageTag } from '../config/versions.ts'
import { TAKES } from '../machine/durations.ts'
import { newer, pulledInstaller } from './image-calls.ts'
import type { Machine } from '../machine/machine.ts'
import { partitionsOf } from '../machine/installing/partitions.ts'
import { install } from '../machine/upgrading/upgrade.ts'
import { builtOn, settleVolumes } from '../machine/volumes/settle.ts'
import { forgetDevice, pathOf } from '../machine/volumes/state.ts'

const TIME_SERVER = 'time.cloudflare.com'

export const storageService: ServiceImpl<typeof StorageService> = {
  disks(_request, context) {
    const machine = machineOf(context)
    const disks = machine.hardware.disks.map((disk) => ({
      size: BigInt(disk.sizeBytes),
      model: disk.model,
      deviceName: `/dev/${disk.name}`,
      name: disk.model,
      serial: disk.serial,
      wwid: disk.wwid,
      type:
        disk.transport === 'nvme'
          ? Disk_DiskType.NVME
          : disk.rotational
            ? Disk_DiskType.HDD
            : Disk_DiskType.SSD,
      busPath: disk.busPath,
      systemDisk: disk.name === machine.systemDisk,
      subsystem: '/sys/class/block',
    }))
    return answer({ disks })
  },

  blockDeviceWipe({ devices }, context) {
    const { machine, mode, roles } = context.values.get(PEER)!
    if (mode !== 'maintenance' && !roles.includes('os:admin'))
      throw new ConnectError('not authorized', Code.PermissionDenied)
    for (const { device, skipVolumeCheck, skipSecondaryCheck } of devices) {
      if (!machine.hardware.disks.some(({ name }) => name === device))
        throw new ConnectError(`blockdevice "${device}" not found`, Code.NotFound)
      const upper = builtOn(machine, device)
      if (upper !== null)
        throw new ConnectError(
          skipSecondaryCheck
            ? `block device "${device}" is mounted or in use`
            : `blockdevice "${device}" is in use by disk "${upper}"`,
          Code.FailedPrecondition,
        )
      // A wiped disk keeps its volumes until the next boot.
      if (device !== (machine.wiped?.disk ?? machine.systemDisk)) continue
      if (!skipVolumeCheck)
        throw new ConnectError(
          `blockdevice "${device}" is in use by volume "META"`,
          Code.FailedPrecondition,
        )
      if (mode !== 'maintenance')
        throw new ConnectError(
          `block device "${device}" is mounted or in use`,
          Code.FailedPrecondition,
        )
    }
    for (const { device } of devices) {
      machine.journal.kernel(`[talos] wiping block device "${device}" with fast method`)
      const parts = partitionsOf(machine)
      machine.disk.change((state) => {
        if (device === machine.systemDisk) {
          machine.wiped = { disk: device, parts }
          Object.assign(state, { installed: null, config: null, meta: {} })
          delete state.half
        }
        forgetDevice(state, pathOf(device))
        state.wiped = [...(state.wiped ?? []), device]
      })
    }
    settleVolumes(machine)
    machine.journal.changed()
    return answer({})
  },
}

export const timeService: ServiceImpl<typeof TimeService> = {
  time(_request, context) {
    const now = timestampFromMs(machineOf(context).world.clock.now())
    return answer({ server: TIME_SERVER, localtime: now, remotetime: now })
  },
  timeCheck({ server }, context) {
    const now = timestampFromMs(machineOf(context).world.clock.now())
    return answer({ server, localtime: now, remotetime: now })
  },
}

/** Install and upgrade as streams, in Talos 1.13 and newer. The machine isn't rebooted. */
export const lifecycleService: ServiceImpl<typeof LifecycleService> = {
  async *install({ source, destination }, context) {
    const machine = machineOf(context)
    newer(machine)
    if (machine.disk.state.installed)
      throw new ConnectError('machine is already installed', Code.AlreadyExists)
    const image = pulledInstaller(machine, source?.imageName)
    const disk = machine.hardware.disks.find(({ name }) => destination?.disk === `/dev/${name}`)
    if (!disk)
      throw new ConnectError(`disk "${destination?.disk ?? ''}" not found`, Code.InvalidArgument)
    yield message(Buffer.from(`installing Talos to /dev/${disk.name}\n`))
    await machine.takes(TAKES.partition + TAKES.writeImage, context.signal)
    machine.disk.change((state) => {
      state.installed = { version: imageTag(image) ?? machine.talosVersion, disk: disk.name, image }
      state.counters.installs++
    })
    if (hasFeature(machine.talosMinor, 'unattendedInstall')) machine.hasMeta = true
    machine.journal.changed()
    yield exit(0)
  },
  async *upgrade({ source }, context) {
    const machine = machineOf(context)
    newer(machine)
    if (busy.has(machine))
      throw new ConnectError(
        'another installation/upgrade is already in progress',
        Code.FailedPrecondition,
      )
    if (!machine.disk.state.installed)
      throw new ConnectError('machine is not installed', Code.FailedPrecondition)
    const image = pulledInstaller(machine, source?.imageName)
    busy.add(machine)
    const output = pipe(hasFeature(machine.talosMinor, 'wholeLines'))
    const code = install(machine, image, context.signal, (line) =>
      output.write(`${line}\n`),
    ).finally(() => {
      busy.delete(machine)
      output.end()
    })
    // The result is awaited after the output.
    code.catch(() => undefined)
    for await (const piece of output.pieces()) yield message(piece)
    yield exit(await code)
  },
}

/**
 * Bytes that a reader takes from a pipe at once (Talos: internal/app/lifecycle/container.go,
 * streamOutput).
 */
const PIECE_BYTES = 512
const NEWLINE = 0x0a

/**
 * The output of an installer. A reader gets whole lines, or pieces of at most 512 bytes, which end
 * anywhere: this one ends them inside a character whenever it can.
 */
const pipe = (inLines: boolean) => {
  const held = { bytes: Buffer.alloc(0), isOver: false }
  let wake: () => void = () => undefined
  return {
    write(text: string): void {
      held.bytes = Buffer.concat([held.bytes, Buffer.from(text)])
      wake()
    },
    end(): void {
      held.isOver = true
      wake()
    },
    async *pieces(): AsyncGenerator<Buffer, void, undefined> {
      while (!held.isOver || held.bytes.length > 0) {
        if (held.bytes.length === 0) await new Promise<void>((resolve) => (wake = resolve))
        const first = held.bytes.subarray(0, PIECE_BYTES).findIndex((byte) => byte >= 0xc0)
        const end = inLines ? held.bytes.indexOf(NEWLINE) : first < 0 ? PIECE_BYTES - 1 : first
        const piece = held.bytes.subarray(0, end + 1)
        held.bytes = held.bytes.subarray(piece.length)
        if (piece.length > 0) yield piece
      }
    },
  }
}

/** Machines on which an installer is running. */
const busy = new WeakSet<Machine>()

const message = (
  value: Uint8Array,
): { progress: { response: { case: 'message'; value: Uint8Array } } } => ({
  progress: { response: { case: 'message', value } },
})
const exit = (code: number): { progress: { response: { case: 'exitCode'; value: number } } } => ({
  progress: { response: { case: 'exitCode', value: code } },
})
