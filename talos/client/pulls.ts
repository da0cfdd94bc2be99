/**
 * What a machine pulls for its own services. Talos reports it in its log, since 1.13 (Talos
 * `internal/pkg/containers/image/console/progress.go`).
 */
import type { TalosClient } from './client.ts'
import { TalosError } from './errors.ts'
import { resources } from './resources.ts'
import { text } from './text.ts'
import { newestLog, saidIn } from './trouble.ts'

export interface Pull {
  /** The image as in the configuration, such as `registry.k8s.io/etcd:v3.6.12`. */
  readonly image: string
  /** Such as `29 MiB of 50 MiB`, or `unpacking`; null if the pull has only begun. */
  readonly progress: string | null
}

/** Services that pull an image before they run, with the image that their specification names. */
const images: Readonly<Record<string, (client: TalosClient) => Promise<string | undefined>>> = {
  etcd: async (client) => (await client.get(resources.etcdSpec, 'etcd'))?.spec.image,
  kubelet: async (client) => (await client.get(resources.kubeletSpec, 'kubelet'))?.spec.image,
}

/**
 * The event with which a service begins what it does before it runs: it pulls its image, and etcd
 * then waits for a cluster to join (`service_runner.go`).
 */
const preparing = 'Running pre state'

/**
 * The image that a service is pulling; null if it pulls none, or if the machine doesn't say so.
 * `service` is an item of `client.services`. Only the end of the caller's work is thrown:
 * TalosError `cancelled`.
 */
export async function readPull(
  client: TalosClient,
  service: { id: string; state: string; lastEvent: { message: string } | undefined },
): Promise<Pull | null> {
  const imageOf = Object.hasOwn(images, service.id) ? images[service.id] : undefined
  if (
    imageOf === undefined ||
    service.state !== 'Preparing' ||
    service.lastEvent?.message !== preparing
  )
    return null
  try {
    const image = await imageOf(client)
    return image === undefined || image === ''
      ? null
      : pullIn(await newestLog(client, {}), text(image))
  } catch (error) {
    if (error instanceof TalosError && error.kind !== 'cancelled') return null
    throw error
  }
}

/**
 * The pull of an image that a log shows as the newest work; null if it shows none. A machine waits
 * for a cluster to join only with the image of etcd.
 */
export function pullIn(log: string, image: string): Pull | null {
  for (const said of saidIn(log).toReversed()) {
    const message = said.replace(/^\[talos\] /, '')
    if (message.startsWith('etcd is waiting to join the cluster')) return null
    const [, reference = '', doing = ''] = /^pulling image (\S+): (.+)$/.exec(message) ?? []
    if (reference !== '' && isSame(reference, image)) return { image, progress: progressOf(doing) }
  }
  return null
}

/** The log has the whole reference, such as `docker.io/library/etcd:latest` for `etcd`. */
const isSame = (reference: string, image: string): boolean =>
  [image, `${image}:latest`].some((end) => reference === end || reference.endsWith(`/${end}`))

function progressOf(doing: string): string | null {
  const [, done, all] =
    /^downloading \d+ layers \(([^/()]{1,32})\/([^/()]{1,32})\)/.exec(doing) ?? []
  if (done !== undefined) return text(`${done} of ${all}`)
  return doing.startsWith('extracting') ? 'unpacking' : null
}
