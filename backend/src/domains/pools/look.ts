/**
 * Reads a cluster's load balancer, its pools and announcements, its Services and the addresses that
 * they use. Texts from the cluster are not trusted.
 */
import {
  type Address,
  type Cidr,
  contains,
  formatAddress,
  parseAddress,
} from '#contract/network/addresses.ts'
import type { PoolProvider } from '#contract/network/subnets.ts'
import type { ObjectCalls } from '../../kubernetes/client.ts'
import { isRecord, KubernetesError } from '../../kubernetes/answers.ts'
import {
  announcementCollection,
  type Announcer,
  announcerLabel,
  type CiliumVersion,
  labels,
  type PoolApi,
  poolCollection,
} from './manifest.ts'

export interface Use {
  /** Canonical address. */
  readonly address: string
  /**
   * `namespace/name` of the Service; several Services that share the address are separated by
   * commas.
   */
  readonly by: string
}

/** Only Services with names that Kubernetes allows (RFC 1123) are kept. */
const namePattern = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/
const mostIngresses = 16
/** Maximum length of the names of all Services that share an address. */
const longestBy = 400

export interface LoadBalancer {
  readonly name: string
  readonly addresses: readonly Address[]
}

/** Name and addresses of an untrusted Service; undefined for other types or invalid names. */
export function readService(item: unknown): LoadBalancer | undefined {
  if (
    !isRecord(item) ||
    !isRecord(item['metadata']) ||
    !isRecord(item['spec']) ||
    item['spec']['type'] !== 'LoadBalancer'
  )
    return undefined
  const { name, namespace } = item['metadata']
  if (
    typeof name !== 'string' ||
    typeof namespace !== 'string' ||
    !namePattern.test(name) ||
    !namePattern.test(namespace)
  )
    return undefined
  const status =
    isRecord(item['status']) && isRecord(item['status']['loadBalancer'])
      ? item['status']['loadBalancer']
      : {}
  const ingress: unknown[] = Array.isArray(status['ingress'])
    ? status['ingress'].slice(0, mostIngresses)
    : []
  const addresses = ingress.flatMap((entry) =>
    isRecord(entry) && typeof entry['ip'] === 'string' ? (parseAddress(entry['ip']) ?? []) : [],
  )
  return { name: `${namespace}/${name}`, addresses }
}

/** Used addresses of one subnet, without duplicates, ordered by their texts. */
export function usesIn(services: readonly LoadBalancer[], cidr: Cidr): Use[] {
  const by = new Map<string, string[]>()
  for (const { name, addresses } of services)
    for (const text of new Set(addresses.filter((a) => contains(cidr, a)).map(formatAddress)))
      by.set(text, [...(by.get(text) ?? []), name])
  return [...by]
    .map(([address, names]) => ({ address, by: shared(names.toSorted()) }))
    .toSorted((a, b) => (a.address < b.address ? -1 : 1))
}

function shared(names: readonly string[]): string {
  const whole = names.join(', ')
  return whole.length <= longestBy ? whole : `${whole.slice(0, longestBy - 1)}…`
}

/**
 * Maximum numbers of objects, far above those of a real cluster; a cluster with more is reported as
 * an error.
 */
const mostServices = 10_000
const mostObjects = 2_000

/** @throws KubernetesError */
export async function servicesOf(
  client: ObjectCalls,
  signal: AbortSignal,
): Promise<LoadBalancer[]> {
  const options = { most: mostServices, fieldSelector: 'spec.type=LoadBalancer', keep: readService }
  const services = await client.list('/api/v1/services', options, signal)
  if (services === null) throw new KubernetesError('the API server lists no Services')
  return services
}

async function objectsIn(
  client: ObjectCalls,
  collection: string,
  isWanted: (name: string, object: unknown) => boolean,
  signal: AbortSignal,
) {
  const keep = (object: unknown): [string, unknown] | undefined => {
    const name =
      isRecord(object) && isRecord(object['metadata']) ? object['metadata']['name'] : undefined
    return typeof name === 'string' && isWanted(name, object) ? [name, object] : undefined
  }
  const found = await client.list(collection, { most: mostObjects, keep }, signal)
  if (found === null) throw new KubernetesError(`the API server serves ${collection} no more`)
  return new Map(found)
}

/** Pools of these names. @throws KubernetesError */
export const poolsIn = (
  client: ObjectCalls,
  api: PoolApi,
  names: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, unknown>> =>
  objectsIn(client, poolCollection(api), (name) => names.has(name), signal)

/**
 * Announcements with these names, and others that this Steelyard has made for the cluster, which
 * are obsolete. @throws KubernetesError
 */
export async function announcementsIn(
  client: ObjectCalls,
  api: PoolApi,
  { names, cluster }: { names: ReadonlySet<string>; cluster: Announcer },
  signal: AbortSignal,
): Promise<ReadonlyMap<string, unknown>> {
  const collection = announcementCollection(api)
  return collection === null
    ? new Map()
    : objectsIn(
        client,
        collection,
        (name, object) => names.has(name) || isOurs(object, cluster),
        signal,
      )
}

const [[label, value]] = Object.entries(labels) as [[string, string]]
/**
 * Whether this Steelyard made an announcement. One without the cluster's id is of the Steelyard
 * that created the cluster.
 */
function isOurs(object: unknown, { id, taken_over }: Announcer): boolean {
  const metadata = isRecord(object) && isRecord(object['metadata']) ? object['metadata'] : {}
  if (!isRecord(metadata['labels']) || metadata['labels'][label] !== value) return false
  const owner = metadata['labels'][announcerLabel]
  return owner === undefined ? !taken_over : owner === id
}

const ciliumVersions: readonly CiliumVersion[] = ['v2', 'v2alpha1']

/**
 * Detects the load balancer of a cluster by the API groups that it serves (Kubernetes, "API
 * discovery"). `known`: the load balancer that was detected before. It stays in use as long as it
 * is served, because a second load balancer that somebody installs must not take away the addresses
 * of running Services. Returns null if the cluster has no load balancer.
 *
 * If both are served and neither was detected before, MetalLB is used: Cilium as network always
 * serves its pools, MetalLB only if it was installed.
 * @throws KubernetesError if the cluster does not answer
 */
export async function discover(
  api: ObjectCalls,
  known: PoolProvider | null,
  signal: AbortSignal,
): Promise<PoolApi | null> {
  const order = known === 'cilium' ? [cilium, metallb] : [metallb, cilium]
  for (const look of order) {
    const found = await look(api, signal)
    if (found) return found
  }
  return null
}

async function cilium(api: ObjectCalls, signal: AbortSignal): Promise<PoolApi | null> {
  const versions = await versionsOf(api, 'cilium.io', signal)
  const serves = new Map<CiliumVersion, ReadonlySet<string>>()
  for (const version of ciliumVersions)
    if (versions.has(version))
      serves.set(version, await resourcesOf(api, `cilium.io/${version}`, signal))
  const first = (resource: string) =>
    ciliumVersions.find((version) => serves.get(version)?.has(resource)) ?? null
  const pools = first('ciliumloadbalancerippools')
  return (
    pools && { provider: 'cilium', pools, announcements: first('ciliuml2announcementpolicies') }
  )
}

async function metallb(api: ObjectCalls, signal: AbortSignal): Promise<PoolApi | null> {
  if (!(await versionsOf(api, 'metallb.io', signal)).has('v1beta1')) return null
  const resources = await resourcesOf(api, 'metallb.io/v1beta1', signal)
  return resources.has('ipaddresspools')
    ? { provider: 'metallb', announcements: resources.has('l2advertisements') }
    : null
}

const namesIn = (answer: unknown, list: string, name: string): ReadonlySet<string> => {
  const items = isRecord(answer) ? answer[list] : undefined
  return new Set(
    Array.isArray(items)
      ? items
          .map((item: unknown) => (isRecord(item) ? item[name] : undefined))
          .filter((n) => typeof n === 'string')
      : [],
  )
}

/** Versions of an API group; empty if not served. */
const versionsOf = async (api: ObjectCalls, group: string, signal: AbortSignal) =>
  namesIn(await api.get(`/apis/${group}`, signal), 'versions', 'version')
const resourcesOf = async (api: ObjectCalls, version: string, signal: AbortSignal) =>
  namesIn(await api.get(`/apis/${version}`, signal), 'resources', 'name')
