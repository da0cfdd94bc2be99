/** What a cluster shows: the pools and announcements that it holds, and its Services. */
import { isRecord, type Kubernetes, KubernetesError } from '../clusters/kubernetes.ts'
import { announcementCollection, labels, type PoolApi, poolCollection } from './manifest.ts'
import { type LoadBalancer, readServices } from './uses.ts'

/** Far more than one cluster has of them; what has more can't be looked after here and is said to. */
const mostServices = 10_000
const mostObjects = 2_000

/** @throws KubernetesError */
export async function servicesOf(client: Kubernetes, signal: AbortSignal): Promise<LoadBalancer[]> {
  const items = await client.list('/api/v1/services', { most: mostServices, fieldSelector: 'spec.type=LoadBalancer' }, signal)
  if (items === null) throw new KubernetesError('the API server lists no Services')
  return readServices(items)
}

const named = (items: readonly unknown[]): ReadonlyMap<string, unknown> =>
  new Map(items.flatMap((o) => (isRecord(o) && isRecord(o['metadata']) && typeof o['metadata']['name'] === 'string' ? [[o['metadata']['name'], o]] : [])))

async function objectsIn(client: Kubernetes, collection: string, signal: AbortSignal) {
  const items = await client.list(collection, { most: mostObjects }, signal)
  if (items === null) throw new KubernetesError(`the API server serves ${collection} no more`)
  return named(items)
}

/** Every pool by name, whoever made it. @throws KubernetesError */
export const poolsIn = (client: Kubernetes, api: PoolApi, signal: AbortSignal) => objectsIn(client, poolCollection(api), signal)

/** Every announcement by name, whoever made it. @throws KubernetesError */
export async function announcementsIn(client: Kubernetes, api: PoolApi, signal: AbortSignal): Promise<ReadonlyMap<string, unknown>> {
  const collection = announcementCollection(api)
  return collection === null ? new Map() : objectsIn(client, collection, signal)
}

const [[label, value]] = Object.entries(labels) as [[string, string]]
export function isOurs(object: unknown): boolean {
  const metadata = isRecord(object) && isRecord(object['metadata']) ? object['metadata'] : {}
  return isRecord(metadata['labels']) && metadata['labels'][label] === value
}
