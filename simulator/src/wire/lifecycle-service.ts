import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ImageService, LifecycleService } from '#talos/proto/gen/machine/lifecycle_pb.ts'
import { hasFeature, imageTag, isTalosVersion } from '../config/versions.ts'
import { TAKES } from '../machine/durations.ts'
import type { Machine } from '../machine/machine.ts'
import { writeImage } from '../machine/sequences.ts'
import { PEER } from './peer.ts'

/** Images in the system namespace, per machine and boot. */
const pulled = new WeakMap<Machine, { bootId: string; images: Map<string, number> }>()

const imagesOf = (machine: Machine): Map<string, number> => {
  let entry = pulled.get(machine)
  if (entry?.bootId !== machine.bootId) pulled.set(machine, (entry = { bootId: machine.bootId, images: new Map() }))
  return entry.images
}

const newer = (machine: Machine): void => {
  if (!hasFeature(machine.talosMinor, 'lifecycleService')) throw new ConnectError('unknown service', Code.Unimplemented)
}

/** The image service of Talos 1.13 and newer. */
export const imageService: ServiceImpl<typeof ImageService> = {
  async *list(_request, context) {
    const { machine } = context.values.get(PEER)!
    newer(machine)
    for (const [name, at] of imagesOf(machine)) yield { name, digest: '', size: 84_000_000n, createdAt: timestampFromMs(at) }
  },
  async *pull({ imageRef }, context) {
    const { machine } = context.values.get(PEER)!
    newer(machine)
    await machine.takes(TAKES.pullImage, context.signal)
    if (!isTalosVersion(imageTag(imageRef) ?? '')) throw new ConnectError(`failed to pull image "${imageRef}": not found`, Code.NotFound)
    imagesOf(machine).set(imageRef, machine.world.clock.now())
    yield { response: { case: 'name' as const, value: imageRef } }
  },
}

/** Install and upgrade as streams, in Talos 1.13 and newer. Neither reboots. */
export const lifecycleService: ServiceImpl<typeof LifecycleService> = {
  async *install({ source, destination }, context) {
    const { machine } = context.values.get(PEER)!
    newer(machine)
    if (machine.disk.state.installed) throw new ConnectError('Talos is already installed', Code.AlreadyExists)
    const image = pulledImage(machine, source?.imageName)
    const disk = machine.hardware.disks.find(({ name }) => destination?.disk === `/dev/${name}`)
    if (!disk) throw new ConnectError(`disk "${destination?.disk ?? ''}" not found`, Code.InvalidArgument)
    yield message(`installing Talos to /dev/${disk.name}`)
    await machine.takes(TAKES.partition + TAKES.writeImage, context.signal)
    machine.disk.change((state) => {
      state.installed = { version: imageTag(image) ?? machine.talosVersion, disk: disk.name, image }
      state.counters.installs++
    })
    yield exit(0)
  },
  async *upgrade({ source }, context) {
    const { machine } = context.values.get(PEER)!
    newer(machine)
    if (!machine.disk.state.installed) throw new ConnectError('Talos is not installed', Code.FailedPrecondition)
    const image = pulledImage(machine, source?.imageName)
    yield message(`upgrading to ${image}`)
    await machine.takes(TAKES.writeImage, context.signal)
    writeImage(machine, image)
    yield exit(0)
  },
}

const pulledImage = (machine: Machine, name: string | undefined): string => {
  if (!name) throw new ConnectError('image name is required', Code.InvalidArgument)
  if (!imagesOf(machine).has(name)) throw new ConnectError(`image "${name}" was not pulled`, Code.NotFound)
  return name
}

const message = (text: string): { progress: { response: { case: 'message'; value: string } } } => ({ progress: { response: { case: 'message', value: text } } })
const exit = (code: number): { progress: { response: { case: 'exitCode'; value: number } } } => ({ progress: { response: { case: 'exitCode', value: code } } })
