import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { ContainerdNamespace } from '#talos/proto/gen/common/common_pb.ts'
import {
  type ImageService,
  ImageServicePullLayerProgress_Status as Layer,
} from '#talos/proto/gen/machine/lifecycle_pb.ts'
import { hasFeature } from '../config/versions.ts'
import { isInstaller, notFoundMessage } from '../config/images.ts'
import { TAKES } from '../machine/durations.ts'
import { hasImage } from '../machine/images.ts'
import type { Machine } from '../machine/machine.ts'
import { type MachineCalls, machineOf, answer } from './peer.ts'

const IMAGE_BYTES = 84_000_000n

const checkNamespace = (namespace: ContainerdNamespace): void => {
  if (namespace === ContainerdNamespace.NS_UNKNOWN)
    throw new ConnectError('invalid namespace NS_UNKNOWN', Code.InvalidArgument)
}

/** Kubernetes' images are in the namespace of the CRI, those of Talos in its own. */
const imagesOf = (
  { images }: Machine,
  namespace: ContainerdNamespace,
): { name: string; digest: string; size: bigint; at: number }[] =>
  [...images]
    .filter(([name]) => (namespace === ContainerdNamespace.NS_CRI) === /\/kube-/.test(name))
    .map(([name, at]) => ({ name, digest: '', size: IMAGE_BYTES, at }))

/** How many parts a pull has, each with a report. */
const PARTS = 4

/** Asks the registry for an image, without retries for a missing one. */
const resolve = async (machine: Machine, reference: string, signal: AbortSignal): Promise<void> => {
  await machine.takes(TAKES.pullImage / PARTS, signal)
  if (machine.disk.state.faults.some(({ kind }) => kind === 'no-image'))
    throw new ConnectError(
      `failed to pull image "${reference}": failed to resolve image: dial tcp: i/o timeout`,
      Code.Unknown,
    )
  if (!hasImage(machine, reference))
    throw new ConnectError(`error pulling image: ${notFoundMessage(reference)}`, Code.NotFound)
}

/** Pulls an image for a caller, and tells how many bytes have arrived. */
async function* pull(
  machine: Machine,
  reference: string,
  signal: AbortSignal,
): AsyncGenerator<bigint, void, undefined> {
  if (machine.images.has(reference)) return
  await resolve(machine, reference, signal)
  for (let part = 1; part < PARTS; part++) {
    yield (IMAGE_BYTES * BigInt(part)) / BigInt(PARTS)
    await machine.takes(TAKES.pullImage / PARTS, signal)
  }
  machine.images.set(reference, machine.world.clock.now())
}

const layer = (status: Layer, offset = 0n, total = 0n) => ({
  response: {
    case: 'pullProgress' as const,
    value: { layerId: 'a4f1c36d8e20', progress: { status, offset, total } },
  },
})

/**
 * The calls about images that every version has (Talos:
 * internal/app/machined/internal/server/v1alpha1/v1alpha1_images.go).
 */
export const imageCalls: MachineCalls = {
  async *imageList({ namespace }, context) {
    checkNamespace(namespace)
    for (const { at, ...image } of imagesOf(machineOf(context), namespace))
      yield { ...image, createdAt: timestampFromMs(at) }
  },

  async imagePull({ namespace, reference }, context) {
    checkNamespace(namespace)
    await Array.fromAsync(pull(machineOf(context), reference, context.signal))
    return answer({})
  },
}

/** Refuses calls of a service that only newer versions have. */
export const newer = (machine: Machine): void => {
  if (!hasFeature(machine.talosMinor, 'lifecycleService'))
    throw new ConnectError('unknown service', Code.Unimplemented)
}

/** The image service of Talos 1.13 and newer (Talos: internal/app/images/images.go). */
export const imageService: ServiceImpl<typeof ImageService> = {
  async *list({ containerd }, context) {
    const machine = machineOf(context)
    newer(machine)
    const namespace = containerd?.namespace ?? ContainerdNamespace.NS_SYSTEM
    for (const { at, ...image } of imagesOf(machine, namespace))
      yield { ...image, createdAt: timestampFromMs(at) }
  },

  async *pull({ imageRef }, context) {
    const machine = machineOf(context)
    newer(machine)
    let isNew = false
    for await (const bytes of pull(machine, imageRef, context.signal)) {
      isNew = true
      yield layer(Layer.DOWNLOADING, bytes, IMAGE_BYTES)
    }
    if (isNew) {
      yield layer(Layer.DOWNLOAD_COMPLETE)
      yield layer(Layer.EXTRACTING)
    }
    yield { response: { case: 'name' as const, value: imageRef } }
  },
}

/** The installer that a caller has pulled. Throws Talos's error if there is none. */
export const pulledInstaller = (machine: Machine, name: string | undefined): string => {
  if (!name) throw new ConnectError('installer image name is required', Code.InvalidArgument)
  if (!machine.images.has(name) || !isInstaller(name))
    throw new ConnectError(
      `upgrade failed: installer image "${name}" not found in containerd store: image "${name}": not found`,
      Code.Internal,
    )
  return name
}
