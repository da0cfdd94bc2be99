/**
 * Upgrade and rollback of an installed machine, and the state that they depend on. Every function
 * throws TalosError only.
 */
import { ContainerDriver, ContainerdNamespace } from '../proto/gen/common/common_pb.ts'
import {
  type ImageServicePullProgress,
  ImageService,
  ImageServicePullLayerProgress_Status as Layer,
  LifecycleService,
} from '../proto/gen/machine/lifecycle_pb.ts'
import { MachineService } from '../proto/gen/machine/machine_pb.ts'
import {
  type CallContext,
  type CallOptions,
  count,
  maxItems,
  one,
  refuseError,
  stream,
  unary,
} from './calls.ts'
import { TalosError } from './errors.ts'
import { installerError, lineReader, withoutUsage } from './installer-output.ts'
import { messageText, text } from './text.ts'

const machine = MachineService.method

/**
 * Time limit of calls in which a machine pulls or writes an image, in ms. Talos itself retries a
 * pull for 20 minutes.
 */
const imageDeadlineMs = 20 * 60_000

/** Time limit of a rollback call, in ms. The machine looks for the previous version on its disk. */
const rollbackDeadlineMs = 60_000

/**
 * An installer is pulled to the partition EPHEMERAL. Talos's own containerd would keep it in memory
 * (talosctl `cmd/talos/image.go`, `system`).
 */
const containerd = { driver: ContainerDriver.CRI, namespace: ContainerdNamespace.NS_SYSTEM }

/**
 * A new id in each boot of a Linux kernel (`Documentation/admin-guide/sysctl/kernel.rst`, random).
 */
const bootIdFile = '/proc/sys/kernel/random/boot_id'
const mostBootIdBytes = 256
/** etcd's data (`constants.EtcdDataPath`). */
const etcdFolder = '/var/lib/etcd'
export const isBootId = (id: string): boolean => /^[0-9a-f-]{36}$/.test(id)

/** Number of the installer's last lines that are kept; a failure ends with about thirty lines. */
const mostSaid = 100
/** Maximum number of the installer's last lines in the message of a failure. */
const mostShown = 3
/** Maximum characters of a line of the installer. Talos sends at most 1 MiB. */
const mostLine = 1024 * 1024

/**
 * What a machine says while it pulls and writes an installer. Bytes are those of the layers that
 * the machine has begun. `said`: the installer's last line.
 */
export type InstallerProgress =
  | { readonly doing: 'downloading'; readonly doneBytes: number; readonly totalBytes: number }
  | { readonly doing: 'unpacking' }
  | { readonly doing: 'writing'; readonly said: string }

export type OnProgress = (progress: InstallerProgress) => Promise<void>
type WithProgress = CallOptions & { readonly onProgress?: OnProgress }

/**
 * Sums the layers of a pull up (Talos `internal/pkg/containers/image/progress/pull_progress.go`). A
 * layer that has arrived is reported without its size, and may then be unpacked while others are
 * still downloaded.
 */
function pullProgress(): (one: ImageServicePullProgress) => InstallerProgress {
  const layers = new Map<string, { done: number; total: number }>()
  return ({ layerId, progress }) => {
    const before = layers.get(layerId)
    if (progress?.status !== Layer.DOWNLOADING)
      layers.set(layerId, { done: before?.total ?? 0, total: before?.total ?? 0 })
    else if (before || layers.size < maxItems)
      layers.set(layerId, {
        done: count(progress.offset, 'pulled bytes'),
        total: count(progress.total, 'layer size'),
      })
    const all = [...layers.values()]
    const sum = (of: (layer: { done: number; total: number }) => number) =>
      all.reduce((bytes, layer) => bytes + of(layer), 0)
    const [doneBytes, totalBytes] = [sum((l) => l.done), sum((l) => l.total)]
    return doneBytes < totalBytes || totalBytes === 0
      ? { doing: 'downloading', doneBytes, totalBytes }
      : { doing: 'unpacking' }
  }
}

export function lifecycleCalls(connection: CallContext) {
  return {
    /**
     * Upgrades the machine, for Talos before 1.13, and for a staged upgrade. The machine pulls and
     * checks the image, answers, writes the image, and restarts. `stage`: the machine restarts
     * first and writes the image before anything uses the disk.
     */
    async upgrade(
      { image, stage }: { image: string; stage: boolean },
      options: CallOptions = {},
    ): Promise<void> {
      const request = { image, stage, preserve: true }
      one(
        (
          await unary(
            connection,
            { deadlineMs: imageDeadlineMs, ...options },
            machine.upgrade,
            request,
          )
        ).messages,
        machine.upgrade.name,
      )
    },

    /** Pulls an installer, since Talos 1.13. A repeated pull is short. */
    async pullInstaller(
      image: string,
      { onProgress, ...options }: WithProgress = {},
    ): Promise<void> {
      const untilMs = options.deadlineMs ?? imageDeadlineMs
      const read = pullProgress()
      let isPulled = false
      for await (const { response } of stream(
        connection,
        options,
        { untilMs },
        ImageService.method.pull,
        { containerd, imageRef: image },
      )) {
        isPulled ||= response.case === 'name'
        if (response.case === 'pullProgress') await onProgress?.(read(response.value))
      }
      if (!isPulled) throw new TalosError('unavailable', 'the connection was lost')
    },

    /**
     * Runs a pulled installer, since Talos 1.13: the image is written for the next boot, and the
     * machine keeps running the old one.
     * @throws TalosError `other` with the installer's last lines if it fails
     */
    async writeInstaller(
      image: string,
      { onProgress, ...options }: WithProgress = {},
    ): Promise<void> {
      const untilMs = options.deadlineMs ?? imageDeadlineMs
      const reader = lineReader()
      const said: string[] = []
      let code: number | undefined
      for await (const { progress } of stream(
        connection,
        options,
        { untilMs },
        LifecycleService.method.upgrade,
        {
          containerd,
          source: { imageName: image },
        },
      )) {
        const response = progress?.response
        if (response?.case === 'exitCode') code = response.value
        else if (response?.case === 'message') {
          const { lines, begun } = reader.add(response.value)
          // A machine isn't trusted, and a line may never end.
          if (begun.length > mostLine)
            throw new TalosError('invalid_data', 'server sent invalid data (installer output)')
          said.push(...lines)
          said.splice(0, said.length - mostSaid)
          const last = withoutUsage(said, (line) => line).findLast((line) => line.trim() !== '')
          if (lines.length > 0 && last !== undefined)
            await onProgress?.({ doing: 'writing', said: messageText(last, 200) })
        }
      }
      if (code === undefined) throw new TalosError('unavailable', 'the connection was lost')
      if (code !== 0) {
        const shown = withoutUsage(said, (line) => line).filter((line) => line.trim() !== '')
        const why = installerError(said) ?? shown.slice(-mostShown).join('; ')
        throw new TalosError(
          'other',
          messageText(`the installer failed with exit code ${code}: ${why}`, 1_000),
        )
      }
    },

    /**
     * Restarts the machine with the previous version. Refused if the disk no longer has that
     * version.
     */
    async rollback(options: CallOptions = {}): Promise<void> {
      one(
        (
          await unary(
            connection,
            { deadlineMs: rollbackDeadlineMs, ...options },
            machine.rollback,
            {},
          )
        ).messages,
        machine.rollback.name,
      )
    },

    /** The id of the machine's current boot. */
    async bootId(options: CallOptions = {}): Promise<string> {
      let read = ''
      for await (const message of stream(
        connection,
        options,
        { untilMs: options.deadlineMs ?? connection.deadlineMs },
        machine.read,
        { path: bootIdFile },
      )) {
        refuseError(message.metadata)
        read += Buffer.from(message.bytes).toString('latin1')
        if (read.length > mostBootIdBytes) break
      }
      const id = read.trim()
      if (!isBootId(id)) throw new TalosError('invalid_data', 'server sent invalid data (boot id)')
      return id
    },

    /**
     * Whether etcd has data on a control plane; null if that can't be read. Talos joins or starts a
     * new etcd only in an empty folder (`services/etcd.go`, IsDirEmpty).
     */
    async hasEtcdData(options: CallOptions = {}): Promise<boolean | null> {
      let isFolder = false
      for await (const found of stream(
        connection,
        options,
        { untilMs: options.deadlineMs ?? connection.deadlineMs },
        machine.list,
        { root: etcdFolder },
      )) {
        refuseError(found.metadata)
        if (found.error !== '') return null
        if (found.relativeName !== '.') return true
        isFolder = found.isDir
      }
      return isFolder ? false : null
    },

    /** Mounted file systems with their free bytes. */
    async mounts(options: CallOptions = {}) {
      const { stats } = one(
        (await unary(connection, options, machine.mounts, {})).messages,
        machine.mounts.name,
      )
      return stats
        .slice(0, maxItems)
        .map((s) => ({ on: text(s.mountedOn), availableBytes: count(s.available, 'free space') }))
    },
  }
}
