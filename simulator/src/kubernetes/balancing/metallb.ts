import { isDeepStrictEqual } from 'node:util'
import { type Body, object, text, list } from '../../config/shape.ts'
import type { Objects } from '../objects.ts'
import { METALLB_NAMESPACE, METALLB_POOLS } from './definitions.ts'
import {
  type Address,
  contains,
  type Range,
  sizeOf,
  overlap,
  parseCidr,
  parseRange,
} from './ranges.ts'
import {
  ingressOf,
  requestedBy,
  same,
  type Service,
  servicesOf,
  keptAddresses,
} from './services.ts'

type Pool = ReturnType<typeof poolOf>

const FROM_POOL = 'metallb.io/ip-allocated-from-pool'
const WANTED_POOL = 'metallb.io/address-pool'
const REQUESTS = ['metallb.io/loadBalancerIPs']

/**
 * Assigns addresses of the pools in MetalLB's namespace to Services, like its controller (MetalLB:
 * controller/service.go). A Service keeps its address while a pool contains it, with or without
 * `autoAssign`. If no pool contains the address, the Service gets another one.
 */
export const balanceMetallb = (objects: Objects): void => {
  const pools = objects.list(METALLB_POOLS, METALLB_NAMESPACE).map(poolOf)
  const services = servicesOf(objects)
  const { kept, taken } = keptAddresses(services, (service, before) =>
    isOurs(service) ? keep(service, pools, before) : [],
  )
  for (const service of services) {
    const addresses = kept.get(service) ?? []
    if (isOurs(service) && addresses.length === 0) {
      const found = find(service, pools, taken)
      addresses.push(...found)
      taken.push(...found)
    }
    write(objects, service, addresses, pools)
  }
  for (const pool of pools) count(objects, pool, taken)
}

const poolOf = (body: Body) => {
  const name = text(object(body.metadata).name)
  const spec = object(body.spec)
  return {
    target: { kind: METALLB_POOLS, namespace: METALLB_NAMESPACE, name },
    name,
    status: object(body.status),
    ranges: metallbRanges(spec).filter((range) => range !== null),
    autoAssign: spec.autoAssign !== false,
    avoidBuggy: spec.avoidBuggyIPs === true,
  }
}

const isOurs = ({ isLoadBalancer, loadBalancerClass }: Service): boolean =>
  isLoadBalancer && loadBalancerClass === null

const has = (pool: Pool, address: Address): boolean =>
  !(pool.avoidBuggy && isBuggy(address)) && pool.ranges.some((range) => contains(range, address))
/** Addresses ending in 0 or 255, which some old firmware drops. */
const isBuggy = ({ value, family }: Address): boolean =>
  family === 4 && (value % 256n === 0n || value % 256n === 255n)

const keep = (service: Service, pools: readonly Pool[], taken: readonly Address[]): Address[] => {
  const requested = requestedBy(service, REQUESTS)
  const wanted = text(service.annotations[WANTED_POOL])
  const isRight = (address: Address): boolean =>
    !taken.some((other) => same(other, address)) &&
    service.families.includes(address.family) &&
    pools.some((pool) => has(pool, address) && (wanted === '' || pool.name === wanted)) &&
    (requested.length === 0 || requested.some((asked) => same(asked, address)))
  return service.addresses.every(isRight) ? service.addresses : []
}

/** All addresses that a Service needs, or none. */
const find = (service: Service, pools: readonly Pool[], taken: readonly Address[]): Address[] => {
  const isFree = (address: Address): boolean => !taken.some((other) => same(other, address))
  const wanted = text(service.annotations[WANTED_POOL])
  const requested = requestedBy(service, REQUESTS)
  if (requested.length > 0)
    return requested.every(
      (asked) =>
        isFree(asked) &&
        pools.some((pool) => has(pool, asked) && (wanted === '' || pool.name === wanted)),
    )
      ? requested
      : []
  const open =
    wanted === ''
      ? pools.filter(({ autoAssign }) => autoAssign)
      : pools.filter(({ name }) => name === wanted)
  const found = service.families.map((family) =>
    open.map((pool) => firstFree(pool, family, isFree)).find((address) => address !== null),
  )
  return found.every((address) => address !== undefined) ? found : []
}

const firstFree = (
  pool: Pool,
  family: 4 | 6,
  isFree: (address: Address) => boolean,
): Address | null => {
  for (const range of pool.ranges.filter((candidate) => candidate.family === family))
    for (let { from: value } = range; value <= range.to; value++)
      if (isFree({ value, family }) && has(pool, { value, family })) return { value, family }
  return null
}

const write = (
  objects: Objects,
  { target, body, annotations }: Service,
  addresses: readonly Address[],
  pools: readonly Pool[],
): void => {
  const [first] = addresses
  const pool = first && pools.find((candidate) => has(candidate, first))
  const { [FROM_POOL]: before, ...others } = annotations
  const status = { ...object(body.status), loadBalancer: ingressOf(addresses) }
  const isChanged = !isDeepStrictEqual(
    object(object(body.status).loadBalancer),
    status.loadBalancer,
  )
  if (isChanged) objects.setStatus(target, status, 'metallb-controller')
  if ((text(before) || undefined) !== pool?.name)
    objects.setAnnotations(target, { ...others, ...(pool && { [FROM_POOL]: pool.name }) })
}

const count = (objects: Objects, pool: Pool, taken: readonly Address[]): void => {
  const of = (family: 4 | 6): [assigned: number, available: number] => {
    const total = pool.ranges
      .filter((range) => range.family === family)
      .reduce((sum, range) => sum + sizeOf(range), 0n)
    const assigned = taken.filter(
      (address) => address.family === family && has(pool, address),
    ).length
    const rest = total - BigInt(assigned)
    return [
      assigned,
      Number(rest > BigInt(Number.MAX_SAFE_INTEGER) ? BigInt(Number.MAX_SAFE_INTEGER) : rest),
    ]
  }
  const [[assignedIPv4, availableIPv4], [assignedIPv6, availableIPv6]] = [of(4), of(6)]
  const status = { assignedIPv4, assignedIPv6, availableIPv4, availableIPv6 }
  if (!isDeepStrictEqual(pool.status, status))
    objects.setStatus(pool.target, status, 'metallb-controller')
}

/** Ranges of a pool's `addresses`, CIDR or from-to; null for an invalid entry. */
const metallbRanges = (spec: Body): (Range | null)[] =>
  list(spec.addresses).map((entry) => {
    const [first = '', last] = text(entry).split('-')
    return last === undefined ? parseCidr(first.trim()) : parseRange(first.trim(), last.trim())
  })

/** Why MetalLB's admission webhook refuses a pool, or null. */
export const refusedPool = (name: string, spec: Body, others: readonly Body[]): string | null => {
  const own = metallbRanges(spec)
  const wrong = own.indexOf(null)
  if (own.length === 0) return `pool "${name}" has no prefixes defined`
  if (wrong !== -1)
    return `parsing address pool "${name}": invalid CIDR "${text(list(spec.addresses)[wrong])}" in pool "${name}"`
  const before: Range[] = others
    .filter((body) => object(body.metadata).name !== name)
    .flatMap((body) => metallbRanges(object(body.spec)).filter((range) => range !== null))
  for (const [at, range] of own.entries()) {
    if (before.some((other) => overlap(other, range!)))
      return `parsing address pool "${name}": CIDR "${text(list(spec.addresses)[at])}" in pool "${name}" overlaps with already defined CIDR`
    before.push(range!)
  }
  return null
}
