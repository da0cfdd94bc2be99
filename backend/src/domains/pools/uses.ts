/** Which addresses a cluster uses: those that its Services of type LoadBalancer show. Pure, and believes nothing that a cluster says but its own names. */
import { type Address, type Cidr, contains, formatAddress, parseAddress } from '#contract/network/addresses.ts'
import { isRecord } from '../../kubernetes/client.ts'

export interface Use {
  /** Canonical text. */
  readonly address: string
  /** `namespace/name` of the Service; several that share the address stand with commas between. */
  readonly by: string
}

/** What of a Service is kept: names as Kubernetes allows them (RFC 1123). */
const namePattern = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/
const mostIngresses = 16
/** Of the names that share an address. */
const longestBy = 400

export interface LoadBalancer {
  readonly name: string
  readonly addresses: readonly Address[]
}

/** Name and addresses of an untrusted Service; undefined for other types or invalid names. */
export function readService(item: unknown): LoadBalancer | undefined {
  if (!isRecord(item) || !isRecord(item['metadata']) || !isRecord(item['spec']) || item['spec']['type'] !== 'LoadBalancer') return undefined
  const { name, namespace } = item['metadata']
  if (typeof name !== 'string' || typeof namespace !== 'string' || !namePattern.test(name) || !namePattern.test(namespace)) return undefined
  const status = isRecord(item['status']) && isRecord(item['status']['loadBalancer']) ? item['status']['loadBalancer'] : {}
  const ingress: unknown[] = Array.isArray(status['ingress']) ? status['ingress'].slice(0, mostIngresses) : []
  const addresses = ingress.flatMap((entry) => (isRecord(entry) && typeof entry['ip'] === 'string' ? (parseAddress(entry['ip']) ?? []) : []))
  return { name: `${namespace}/${name}`, addresses }
}

/** Addresses of one subnet in use, in order of address text, each once. */
export function usesIn(services: readonly LoadBalancer[], cidr: Cidr): Use[] {
  const by = new Map<string, string[]>()
  for (const { name, addresses } of services)
    for (const text of new Set(addresses.filter((a) => contains(cidr, a)).map(formatAddress))) by.set(text, [...(by.get(text) ?? []), name])
  return [...by].map(([address, names]) => ({ address, by: shared(names.toSorted()) })).toSorted((a, b) => (a.address < b.address ? -1 : 1))
}

function shared(names: readonly string[]): string {
  const whole = names.join(', ')
  return whole.length <= longestBy ? whole : `${whole.slice(0, longestBy - 1)}…`
}
