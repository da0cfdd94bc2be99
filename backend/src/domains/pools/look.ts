/** What a cluster shows: the pools and announcements that it holds, and its Services. */
import { isRecord, type Kubernetes, KubernetesError } from '../../kubernetes/client.ts'
import { announcementCollection, labels, type PoolApi, poolCollection } from './manifest.ts'
import { type LoadBalancer, readService } from './uses.ts'

/** Far more than one cluster has; a cluster with more is reported as an error. */
const mostServices = 10_000
const mostObjects = 2_000

/** @throws KubernetesError */
export async function servicesOf(client: Kubernetes, signal: AbortSignal): Promise<LoadBalancer[]> {
  const options = { most: mostServices, fieldSelector: 'spec.type=LoadBalancer', keep: readService }
  const services = await client.list('/api/v1/services', options, signal)
  if (services === null) throw new KubernetesError('the API server lists no Services')
  return services
}

async function objectsIn(client: Kubernetes, collection: string, isWanted: (name: string, object: unknown) => boolean, signal: AbortSignal) {
  const keep = (object: unknown): [string, unknown] | undefined => {
    const name = isRecord(object) && isRecord(object['metadata']) ? object['metadata']['name'] : undefined
    return typeof name === 'string' && isWanted(name, object) ? [name, object] : undefined
  }
  const found = await client.list(collection, { most: mostObjects, keep }, signal)
  if (found === null) throw new KubernetesError(`the API server serves ${collection} no more`)
  return new Map(found)
}

/** Pools of these names. @throws KubernetesError */
export const poolsIn = (client: Kubernetes, api: PoolApi, names: ReadonlySet<string>, signal: AbortSignal): Promise<ReadonlyMap<string, unknown>> =>
  objectsIn(client, poolCollection(api), (name) => names.has(name), signal)

/** Announcements with these names, and others with our label, which are obsolete. @throws KubernetesError */
export async function announcementsIn(
  client: Kubernetes,
  api: PoolApi,
  names: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, unknown>> {
  const collection = announcementCollection(api)
  return collection === null ? new Map() : objectsIn(client, collection, (name, object) => names.has(name) || isOurs(object), signal)
}

const [[label, value]] = Object.entries(labels) as [[string, string]]
function isOurs(object: unknown): boolean {
  const metadata = isRecord(object) && isRecord(object['metadata']) ? object['metadata'] : {}
  return isRecord(metadata['labels']) && metadata['labels'][label] === value
}
