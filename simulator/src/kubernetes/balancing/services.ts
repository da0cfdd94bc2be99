import { type Body, list, object, text } from '../../config/shape.ts'
import { builtIn } from '../kinds.ts'
import type { Objects } from '../objects.ts'
import { type Address, formatAddress, parseAddress } from './ranges.ts'

export const SERVICES = builtIn('services')
const NAMESPACES = builtIn('namespaces')

/** A Service as load balancers see it; `addresses` are those in its status. */
export type Service = ReturnType<typeof servicesOf>[number]

/** Every Service, oldest first: older ones keep their addresses. */
export const servicesOf = (objects: Objects) =>
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
  const key = ({ metadata }: Body): string =>
    `${text(object(metadata).creationTimestamp)} ${text(object(metadata).namespace)}/${text(object(metadata).name)}`
  return bodies.toSorted((a, b) => (key(a) < key(b) ? -1 : 1))
}

/** Requested address families. Default: IPv4 only, because simulated clusters have no IPv6. */
const familiesOf = (spec: Body): (4 | 6)[] => {
  const asked = list(spec.ipFamilies).map((family): 4 | 6 => (family === 'IPv6' ? 6 : 4))
  if (asked.length === 0) return [4]
  return spec.ipFamilyPolicy === 'PreferDualStack' || spec.ipFamilyPolicy === 'RequireDualStack'
    ? asked
    : asked.slice(0, 1)
}

/** Addresses that a Service requests in its specification or in one of the given annotations. */
export const requestedBy = ({ body, annotations }: Service, names: readonly string[]): Address[] =>
  [
    text(object(body.spec).loadBalancerIP),
    ...names.flatMap((name) => text(annotations[name]).split(',')),
  ].flatMap((item) => parseAddress(item.trim()) ?? [])

export const same = (one: Address, other: Address): boolean =>
  one.value === other.value && one.family === other.family

/**
 * `kept`: the addresses that each Service keeps. `taken`: all kept addresses. The function `keep`
 * is called for one Service after another, with the addresses that earlier Services keep.
 */
export const keptAddresses = (
  services: readonly Service[],
  keep: (service: Service, taken: readonly Address[]) => Address[],
) => {
  const taken: Address[] = []
  const kept = new Map<Service, Address[]>()
  for (const service of services) {
    const addresses = keep(service, taken)
    kept.set(service, addresses)
    taken.push(...addresses)
  }
  return { kept, taken }
}

/** The value of `status.loadBalancer`. */
export const ingressOf = (addresses: readonly Address[]): Body =>
  addresses.length === 0
    ? {}
    : { ingress: addresses.map((address) => ({ ip: formatAddress(address), ipMode: 'VIP' })) }

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

/**
 * Adds a Service of type LoadBalancer and its namespace if missing. Throws a `Refusal` if the name
 * is already in use.
 */
export const addService = (
  objects: Objects,
  { namespace, name, ports = [443], labels, annotations }: ServiceOptions,
): void => {
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
