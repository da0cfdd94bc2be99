import { resolveExtensions } from '../factory/catalogue.ts'
import { imageExists, notFoundMessage } from '../config/images.ts'
import { hasFeature, releaseOf } from '../config/versions.ts'
import type { Fault } from '../fleet/faults.ts'
import { TAKES } from './durations.ts'
import type { Machine } from './machine.ts'

/**
 * Whether the machine's registries have an image. The fault `image-missing` removes images whose
 * reference contains a text.
 */
export const hasImage = (machine: Machine, reference: string): boolean =>
  imageExists(reference) &&
  isBuilt(machine, reference) &&
  !machine.disk.state.faults.some(
    (fault) => fault.kind === 'image-missing' && reference.includes(fault.image),
  )

/**
 * Whether the image factory builds an installer: it has the schematic, and the version has every
 * extension. A server's own schematic is always known.
 */
const isBuilt = (machine: Machine, reference: string): boolean => {
  const [, id = '', version = ''] = /\/([0-9a-f]{64}):([^@]*)/.exec(reference) ?? []
  const schematic = machine.world.schematic(id)
  if (id === '' || id === machine.schematic || id === machine.plan.schematic) return true
  if (schematic === undefined) return false
  try {
    return resolveExtensions(schematic.extensions, version).length === schematic.extensions.length
  } catch {
    return false
  }
}

/**
 * Retries of Talos for an image that a registry doesn't have (Talos: image.go, MaxNotFoundRetries).
 */
const NOT_FOUND_RETRIES = 5
/**
 * Interval of the messages about a pull (Talos: internal/pkg/containers/image/console/progress.go,
 * ReportInterval).
 */
const REPORT_MS = 15_000
/** Size of a slowly pulled image in its messages. */
const SLOW_IMAGE_MIB = 50

/**
 * The image of etcd that a control plane runs; by default that of the Talos version (Talos:
 * constants.DefaultEtcdVersion).
 */
export const etcdImageOf = ({ config, talosMinor }: Machine): string =>
  config?.node?.cluster.etcdImage || `registry.k8s.io/etcd:${releaseOf(talosMinor).etcd}`

interface Pull {
  readonly signal?: AbortSignal
  /** How often a missing image is requested again. */
  readonly retries?: number
}

/**
 * Pulls an image as Talos does, and returns why that failed, or null. An image that was pulled
 * before isn't pulled again; an interrupted pull leaves nothing behind.
 */
export const pullImage = async (
  machine: Machine,
  reference: string,
  { signal, retries = NOT_FOUND_RETRIES }: Pull = {},
): Promise<string | null> => {
  if (machine.images.has(reference)) return null
  await transfer(machine, reference, signal)
  for (let attempt = 0; !hasImage(machine, reference); attempt++) {
    const problem = notFoundMessage(reference)
    if (attempt === retries) return problem
    if (attempt === 0) machine.journal.kernel(`[talos] retrying error: ${problem}`)
    await machine.takes(TAKES.pullRetry * 2 ** attempt, signal)
  }
  machine.images.set(reference, machine.world.clock.now())
  return null
}

const transfer = async (
  machine: Machine,
  reference: string,
  signal?: AbortSignal,
): Promise<void> => {
  const slow = machine.disk.state.faults.find(
    (fault): fault is Extract<Fault, { kind: 'slow-pull' }> =>
      fault.kind === 'slow-pull' && reference.includes(fault.image),
  )
  if (slow) return transferSlowly(machine, reference, slow.ms, signal)
  // The duration of the first pull is part of the start of each program, and so is that of etcd's
  // image.
  const etcd = etcdImageOf(machine)
  if (reference !== etcd && [...machine.images.keys()].some((known) => known !== etcd))
    await machine.takes(TAKES.pullImage, signal)
}

/**
 * A long pull. Since Talos 1.13, machined reports the pulls of its own services; the kubelet
 * doesn't report those of pods.
 */
const transferSlowly = async (
  machine: Machine,
  reference: string,
  ms: number,
  signal?: AbortSignal,
): Promise<void> => {
  const isReported =
    hasFeature(machine.talosMinor, 'pullProgress') &&
    [etcdImageOf(machine), machine.config?.node?.kubeletImage].includes(reference)
  for (let at = 0; at < ms; at += REPORT_MS) {
    const done = Math.round((SLOW_IMAGE_MIB * at) / ms)
    const share = ((100 * done) / SLOW_IMAGE_MIB).toFixed(2)
    const doing =
      at === 0
        ? 'starting...'
        : `downloading 1 layers (${done} MiB/${SLOW_IMAGE_MIB} MiB) (${share}%)...`
    if (isReported) machine.journal.kernel(`[talos] pulling image ${reference}: ${doing}`)
    await machine.takes(Math.min(REPORT_MS, ms - at), signal)
  }
}
