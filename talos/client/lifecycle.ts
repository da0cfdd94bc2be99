/** Upgrade and rollback of an installed machine, and the state that they depend on. Every function throws TalosError only. */
import { ContainerDriver, ContainerdNamespace } from '../proto/gen/common/common_pb.ts'
import { ImageService, LifecycleService } from '../proto/gen/machine/lifecycle_pb.ts'
import { MachineService } from '../proto/gen/machine/machine_pb.ts'
import { type CallContext, type CallOptions, count, maxItems, one, refuseError, stream, unary } from './calls.ts'
import { TalosError } from './errors.ts'
import { messageText, text } from './text.ts'

const machine = MachineService.method

/** Time limit of calls in which a machine pulls or writes an image, in ms. Talos itself retries a pull for 20 minutes. */
const imageDeadlineMs = 20 * 60_000

/** Time limit of a rollback call, in ms. The machine looks for the previous version on its disk. */
const rollbackDeadlineMs = 60_000

/** An installer is pulled to the partition EPHEMERAL. Talos's own containerd would keep it in memory (talosctl `cmd/talos/image.go`, `system`). */
const containerd = { driver: ContainerDriver.CRI, namespace: ContainerdNamespace.NS_SYSTEM }

/** A new id in each boot of a Linux kernel (`Documentation/admin-guide/sysctl/kernel.rst`, random). */
const bootIdFile = '/proc/sys/kernel/random/boot_id'
const mostBootIdBytes = 256

/** Maximum number of the installer's last lines in the message of a failure. */
const mostSaid = 3

export function lifecycleCalls(connection: CallContext) {
  return {
    /**
     * Upgrades the machine, for Talos before 1.13, and for a staged upgrade. The machine pulls and checks the image, answers, writes the image, and restarts.
     * `stage`: the machine restarts first and writes the image before anything uses the disk.
     */
    async upgrade({ image, stage }: { image: string; stage: boolean }, options: CallOptions = {}): Promise<void> {
      const request = { image, stage, preserve: true }
      one((await unary(connection, { deadlineMs: imageDeadlineMs, ...options }, machine.upgrade, request)).messages, machine.upgrade.name)
    },

    /** Pulls an installer, since Talos 1.13. A repeated pull is short. */
    async pullInstaller(image: string, options: CallOptions = {}): Promise<void> {
      const untilMs = options.deadlineMs ?? imageDeadlineMs
      let isPulled = false
      for await (const { response } of stream(connection, options, { untilMs }, ImageService.method.pull, { containerd, imageRef: image }))
        isPulled ||= response.case === 'name'
      if (!isPulled) throw new TalosError('unavailable', 'the connection was lost')
    },

    /**
     * Runs a pulled installer, since Talos 1.13: the image is written for the next boot, and the machine keeps running the old one.
     * @throws TalosError `other` with the installer's last lines if it fails
     */
    async writeInstaller(image: string, options: CallOptions = {}): Promise<void> {
      const untilMs = options.deadlineMs ?? imageDeadlineMs
      const said: string[] = []
      let code: number | undefined
      for await (const { progress } of stream(connection, options, { untilMs }, LifecycleService.method.upgrade, {
        containerd,
        source: { imageName: image },
      })) {
        const response = progress?.response
        if (response?.case === 'exitCode') code = response.value
        else if (response?.case === 'message') {
          said.push(...response.value.split('\n').filter((line) => line.trim() !== ''))
          said.splice(0, said.length - mostSaid)
        }
      }
      if (code === undefined) throw new TalosError('unavailable', 'the connection was lost')
      if (code !== 0) throw new TalosError('other', messageText(`the installer failed with exit code ${code}: ${said.join('; ')}`, 1_000))
    },

    /** Restarts the machine with the previous version. Refused if the disk no longer has that version. */
    async rollback(options: CallOptions = {}): Promise<void> {
      one((await unary(connection, { deadlineMs: rollbackDeadlineMs, ...options }, machine.rollback, {})).messages, machine.rollback.name)
    },

    /** The id of the machine's current boot. */
    async bootId(options: CallOptions = {}): Promise<string> {
      let read = ''
      for await (const message of stream(connection, options, { untilMs: options.deadlineMs ?? connection.deadlineMs }, machine.read, { path: bootIdFile })) {
        refuseError(message.metadata)
        read += Buffer.from(message.bytes).toString('latin1')
        if (read.length > mostBootIdBytes) break
      }
      const id = read.trim()
      if (!/^[0-9a-f-]{36}$/.test(id)) throw new TalosError('invalid_data', 'server sent invalid data (boot id)')
      return id
    },

    /** Mounted file systems with their free bytes. */
    async mounts(options: CallOptions = {}) {
      const { stats } = one((await unary(connection, options, machine.mounts, {})).messages, machine.mounts.name)
      return stats.slice(0, maxItems).map((s) => ({ on: text(s.mountedOn), availableBytes: count(s.available, 'free space') }))
    },
  }
}
