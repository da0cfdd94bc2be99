import { list, object, text } from '../../config/shape.ts'
import { builtIn } from '../kinds.ts'
import type { Objects, Target } from '../objects.ts'
import { isIPv4, isIPv6 } from 'node:net'

/** An address as a number, with its family. */
export interface Address {
  value: bigint
  family: 4 | 6
}

/** First to last address, inclusive. */
export interface Range {
  from: bigint
  to: bigint
  family: 4 | 6
  /** Written as a CIDR, so that network and broadcast address are known. */
  isCidr: boolean
}

/** Null if invalid. */
export const parseAddress = (text: string): Address | null => {
  if (isIPv4(text)) return { value: text.split('.').reduce((sum, part) => sum * 256n + BigInt(part), 0n), family: 4 }
  if (!isIPv6(text) || text.includes('%')) return null
  const [head = '', tail] = canonical(text).split('::')
  const groups = (part: string): string[] => (part === '' ? [] : part.split(':'))
  const [before, after] = [groups(head), groups(tail ?? '')]
  const all = [...before, ...Array.from({ length: 8 - before.length - after.length }, () => '0'), ...after]
  return { value: all.reduce((sum, group) => sum * 65_536n + BigInt(`0x${group}`), 0n), family: 6 }
}

/** Canonical IPv6 address, in hexadecimal groups only. */
const canonical = (text: string): string => new URL(`http://[${text}]`).hostname.slice(1, -1)

export const formatAddress = ({ value, family }: Address): string => {
  if (family === 4) return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n).join('.')
  return canonical(Array.from({ length: 8 }, (_, group) => ((value >> BigInt(112 - group * 16)) & 65_535n).toString(16)).join(':'))
}

/** `203.0.113.0/24`; null if invalid. Host bits are dropped. */
export const parseCidr = (text: string): Range | null => {
  const [address = '', length = ''] = text.split('/')
  const parsed = parseAddress(address)
  const bits = parsed?.family === 4 ? 32 : 128
  if (!parsed || !/^\d{1,3}$/.test(length) || Number(length) > bits) return null
  const size = 1n << BigInt(bits - Number(length))
  const from = parsed.value - (parsed.value % size)
  return { from, to: from + size - 1n, family: parsed.family, isCidr: true }
}

/** A range between two addresses of one family; null if invalid. */
export const parseRange = (first: string, last: string): Range | null => {
  const [from, to] = [parseAddress(first), parseAddress(last)]
  if (!from || !to || from.family !== to.family || to.value < from.value) return null
  return { from: from.value, to: to.value, family: from.family, isCidr: false }
}

export const overlap = (one: Range, other: Range): boolean => one.family === other.family && one.from <= other.to && other.from <= one.to
export const contains = (range: Range, { value, family }: Address): boolean => range.family === family && range.from <= value && value <= range.to
export const sizeOf = ({ from, to }: Range): bigint => to - from + 1n
export const rangeText = ({ from, to, family }: Range): string => `${formatAddress({ value: from, family })} - ${formatAddress({ value: to, family })}`

type Body = Record<string, unknown>

export const SERVICES = builtIn('services')
const NAMESPACES = builtIn('namespaces')

/** A Service as load balancers see it. */
export interface Service {
  target: Target
  body: Body
  isLoadBalancer: boolean
  loadBalancerClass: string | null
  annotations: Record<string, unknown>
  labels: Record<string, unknown>
  families: (4 | 6)[]
  /** Addresses in its status. */
  addresses: Address[]
}

/** Every Service, oldest first: older ones keep their addresses. */
export const servicesOf = (objects: Objects): Service[] =>
  byAge(objects.list(SERVICES, '')).map((body) => {
    const metadata = object(body.metadata)
    const spec = object(body.spec)
    const ingress = list(object(object(body.status).loadBalancer).ingress)
    return {
      target: { kind: SERVICES, namespace: text(metadata.namespace), name: text(metadata.name) },
      body,
      isLoadBalancer: spec.type === 'LoadBalancer',
      loadBalancerClass: text(spec.loadBalancerClass) || null,
      annotations: object(metadata.annotations),
      labels: object(metadata.labels),
      families: familiesOf(spec),
      addresses: ingress.flatMap((item) => parseAddress(text(object(item).ip)) ?? []),
    }
  })

export const byAge = (bodies: readonly Body[]): Body[] => {
  const key = ({ metadata }: Body): string => `${text(object(metadata).creationTimestamp)} ${text(object(metadata).namespace)}/${text(object(metadata).name)}`
  return bodies.toSorted((a, b) => (key(a) < key(b) ? -1 : 1))
}

/** Requested address families. Default: IPv4 only, because simulated clusters have no IPv6. */
const familiesOf = (spec: Body): (4 | 6)[] => {
  const asked = list(spec.ipFamilies).map((family): 4 | 6 => (family === 'IPv6' ? 6 : 4))
  if (asked.length === 0) return [4]
  return spec.ipFamilyPolicy === 'PreferDualStack' || spec.ipFamilyPolicy === 'RequireDualStack' ? asked : asked.slice(0, 1)
}

/** Addresses that a Service requests in its specification or in one of these annotations. */
export const requestedBy = ({ body, annotations }: Service, names: readonly string[]): Address[] =>
  [text(object(body.spec).loadBalancerIP), ...names.flatMap((name) => text(annotations[name]).split(','))].flatMap((item) => parseAddress(item.trim()) ?? [])

export const same = (one: Address, other: Address): boolean => one.value === other.value && one.family === other.family

/** The value of `status.loadBalancer`. */
export const ingressOf = (addresses: readonly Address[]): Body =>
  addresses.length === 0 ? {} : { ingress: addresses.map((address) => ({ ip: formatAddress(address), ipMode: 'VIP' })) }

export const addNamespace = (objects: Objects, name: string): void => {
  if (objects.list(NAMESPACES, '').some(({ metadata }) => object(metadata).name === name)) return
  objects.create(NAMESPACES, '', { metadata: { name } }, 'simulator')
}

export interface ServiceOptions {
  namespace: string
  name: string
  ports?: number[]
  labels?: Record<string, string>
  annotations?: Record<string, string>
}

/** Adds a Service of type LoadBalancer and its namespace if missing. Throws a `Refusal` if the name is taken. */
export const addService = (objects: Objects, { namespace, name, ports = [443], labels, annotations }: ServiceOptions): void => {
  addNamespace(objects, namespace)
  const metadata = { name, labels: { app: name, ...labels }, ...(annotations && { annotations }) }
  const spec = {
    type: 'LoadBalancer',
    selector: { app: name },
    ports: ports.map((port) => ({ name: `p${port}`, port, protocol: 'TCP', targetPort: port })),
    ipFamilies: ['IPv4'],
    ipFamilyPolicy: 'SingleStack',
    externalTrafficPolicy: 'Cluster',
    allocateLoadBalancerNodePorts: true,
  }
  objects.create(SERVICES, namespace, { metadata, spec }, 'simulator')
}
