import { isDeepStrictEqual } from 'node:util'
import { type Body, list, object, text } from '../../config/shape.ts'
import type { Objects } from '../objects.ts'
import type { Target } from '../kinds.ts'
import { CILIUM_POOLS } from './definitions.ts'
import {
  type Address,
  contains,
  formatAddress,
  overlap,
  parseCidr,
  parseRange,
  type Range,
  rangeText,
  sizeOf,
} from './ranges.ts'
import {
  byAge,
  ingressOf,
  requestedBy,
  same,
  type Service,
  servicesOf,
  keptAddresses,
} from './services.ts'

interface Condition {
  type: string
  status: 'True' | 'False' | 'Unknown'
  observedGeneration: number
  lastTransitionTime: string
  reason: string
  message: string
}

type Pool = ReturnType<typeof poolOf>

const REQUEST = 'cilium.io/IPAMRequestSatisfied'
const CONFLICT = 'cilium.io/PoolConflict'
const CLASSES = new Set(['io.cilium/bgp-control-plane', 'io.cilium/l2-announcer'])
const REQUESTS = ['lbipam.cilium.io/ips', 'io.cilium/lb-ipam-ips']

/**
 * Assigns addresses of the cluster's pools to Services and writes their conditions, like Cilium's
 * operator (Cilium: operator/pkg/lbipam). A Service keeps its address while a pool contains it,
 * even a disabled pool. New addresses come from enabled pools without conflict. Without any pool
 * nothing happens. Sharing keys are not supported.
 */
export const balanceCilium = (objects: Objects, now: number): void => {
  const at = new Date(now).toISOString().replace(/\.\d+Z$/, 'Z')
  const pools = byAge(objects.list(CILIUM_POOLS, '')).map(poolOf)
  settle(pools, at)
  const services = servicesOf(objects)
  const { kept, taken } = keptAddresses(services, (service, before) =>
    isOurs(service) ? keep(service, pools, before) : [],
  )
  for (const service of services) {
    const addresses = kept.get(service) ?? []
    if (!isOurs(service)) release(objects, service)
    // If there are no pools, only Services that already have conditions are updated.
    else if (pools.length > 0 || conditionsOf(service.body).length > 0)
      give(objects, service, addresses, pools, taken, at)
  }
  for (const pool of pools) count(objects, pool, taken, at)
}

const poolOf = (body: Body) => {
  const metadata = object(body.metadata)
  const spec = object(body.spec)
  const ranges = list(spec.blocks)
    .map(object)
    .flatMap(
      ({ cidr, start, stop }) =>
        (text(cidr) === ''
          ? parseRange(text(start), text(stop) || text(start))
          : parseCidr(text(cidr))) ?? [],
    )
  const isWide = (range: Range): boolean => range.isCidr && sizeOf(range) > 2n
  const conditions = conditionsOf(body)
  return {
    target: { kind: CILIUM_POOLS, namespace: '', name: text(metadata.name) },
    name: text(metadata.name),
    generation: Number(metadata.generation ?? 1),
    status: object(body.status),
    conditions,
    ranges,
    /** The first and last address of each network, if the pool doesn't assign them. */
    reserved:
      spec.allowFirstLastIPs === 'No'
        ? ranges.filter(isWide).flatMap(({ from, to, family }) => [
            { value: from, family },
            { value: to, family },
          ])
        : [],
    disabled: spec.disabled === true,
    conflicting: conditions.some(({ type, status }) => type === CONFLICT && status === 'True'),
    selector: spec.serviceSelector === undefined ? null : object(spec.serviceSelector),
  }
}

const conditionsOf = (body: Body): Condition[] =>
  structuredClone(list(object(body.status).conditions)) as Condition[]

/**
 * Marks pools that conflict with an older pool or with themselves, and clears the mark of all other
 * pools.
 */
const settle = (pools: readonly Pool[], at: string): void => {
  for (const pool of pools) {
    const clashes = clash(pool, pools)
    if (!pool.conflicting && clashes) {
      pool.conflicting = true
      const message = `Pool conflicts since range '${rangeText(clashes.own)}' overlaps range '${rangeText(clashes.other)}' from IP Pool '${clashes.pool}'`
      setCondition(
        pool.conditions,
        { type: CONFLICT, status: 'True', reason: 'cidr_overlap', message },
        pool.generation,
        at,
      )
    } else {
      const isResolved = !overlapsAny(pool, pools)
      if (
        (isResolved && pool.conflicting) ||
        !pool.conditions.some(({ type }) => type === CONFLICT)
      )
        setCondition(
          pool.conditions,
          { type: CONFLICT, status: 'False', reason: 'resolved', message: '' },
          pool.generation,
          at,
        )
      if (isResolved) pool.conflicting = false
    }
  }
}

/** The conflict of a pool: with itself, or with an older pool that is itself without conflict. */
const clash = (
  pool: Pool,
  pools: readonly Pool[],
): { own: Range; other: Range; pool: string } | null => {
  for (const [index, own] of pool.ranges.entries())
    for (const [other, range] of pool.ranges.entries())
      if (index !== other && overlap(own, range)) return { own, other: range, pool: pool.name }
  for (const older of pools.slice(0, pools.indexOf(pool))) {
    if (older.conflicting) continue
    for (const own of pool.ranges)
      for (const other of older.ranges)
        if (overlap(own, other)) return { own, other, pool: older.name }
  }
  return null
}

const overlapsAny = (pool: Pool, pools: readonly Pool[]): boolean =>
  pool.ranges.some((own, index) =>
    pools.some((other) =>
      other.ranges.some((range, at) => !(other === pool && at === index) && overlap(own, range)),
    ),
  )

const isOurs = ({ isLoadBalancer, loadBalancerClass }: Service): boolean =>
  isLoadBalancer && (loadBalancerClass === null || CLASSES.has(loadBalancerClass))

/** The addresses that a Service may keep. */
const keep = (service: Service, pools: readonly Pool[], taken: readonly Address[]): Address[] => {
  const requested = requestedBy(service, REQUESTS)
  return service.addresses.filter(
    (address) =>
      !taken.some((other) => same(other, address)) &&
      (requested.length > 0
        ? requested.some((asked) => same(asked, address))
        : service.families.includes(address.family)) &&
      pools.some(
        (pool) => matches(pool, service) && pool.ranges.some((range) => contains(range, address)),
      ),
  )
}

const give = (
  objects: Objects,
  service: Service,
  kept: readonly Address[],
  pools: readonly Pool[],
  taken: Address[],
  at: string,
): void => {
  const addresses = [...kept]
  const open = pools.filter((pool) => !pool.disabled && !pool.conflicting)
  const isFree = (address: Address): boolean => !taken.some((other) => same(other, address))
  const requested = requestedBy(service, REQUESTS)
  let problem: Pick<Condition, 'reason' | 'message'> | null = null
  const take = (address: Address): void => {
    addresses.push(address)
    taken.push(address)
  }
  for (const asked of requested.filter((address) => !addresses.some((own) => same(own, address)))) {
    const having = open.filter(({ ranges }) => ranges.some((range) => contains(range, asked)))
    const name = formatAddress(asked)
    if (having.length === 0)
      problem = { reason: 'no_pool', message: `No pool exists with a CIDR containing '${name}'` }
    else if (!having.some((pool) => matches(pool, service)))
      problem = {
        reason: 'pool_selector_mismatch',
        message: `The pool with the CIDR containing '${name}', doesn't select this service`,
      }
    else if (!isFree(asked))
      problem = {
        reason: 'already_allocated',
        message: `The IP '${name}' is already allocated to another service`,
      }
    else take(asked)
  }
  if (requested.length === 0) {
    const usable = open.filter((pool) => matches(pool, service))
    for (const family of service.families.filter(
      (wanted) => !addresses.some((own) => own.family === wanted),
    )) {
      const ranges = usable.flatMap((pool) =>
        pool.ranges
          .filter((range) => range.family === family)
          .map((range) => ({ range, reserved: pool.reserved })),
      )
      const found = ranges
        .map(({ range, reserved }) => firstFree(range, [...taken, ...reserved]))
        .find((address) => address !== null)
      if (found) take(found)
      else
        problem =
          ranges.length === 0
            ? {
                reason: 'no_pool',
                message: 'There are no enabled CiliumLoadBalancerIPPools that match this service',
              }
            : {
                reason: 'out_of_ips',
                message:
                  'All enabled CiliumLoadBalancerIPPools that match this service ran out of allocatable IPs',
              }
    }
  }
  const conditions = conditionsOf(service.body)
  const generation = Number(object(service.body.metadata).generation ?? 0)
  const { reason, message } = problem ?? { reason: 'satisfied', message: '' }
  setCondition(
    conditions,
    { type: REQUEST, status: problem ? 'False' : 'True', reason, message },
    generation,
    at,
  )
  write(objects, service.target, service.body, {
    ...object(service.body.status),
    loadBalancer: ingressOf(addresses),
    conditions,
  })
}

/** Removes the addresses of a Service that this controller no longer manages. */
const release = (objects: Objects, service: Service): void => {
  const conditions = conditionsOf(service.body)
  if (!conditions.some(({ type }) => type === REQUEST)) return
  const { conditions: _, ...rest } = object(service.body.status)
  const others = conditions.filter(({ type }) => type !== REQUEST)
  write(objects, service.target, service.body, {
    ...rest,
    loadBalancer: {},
    ...(others.length > 0 && { conditions: others }),
  })
}

const matches = ({ selector }: Pool, { labels, target }: Service): boolean => {
  if (!selector) return true
  const all = {
    ...labels,
    'io.kubernetes.service.namespace': target.namespace,
    'io.kubernetes.service.name': target.name,
  }
  const value = (key: string): unknown => all[key as keyof typeof all]
  const isMet = ({ key, operator, values }: Body): boolean => {
    const own = value(text(key))
    if (operator === 'Exists') return own !== undefined
    if (operator === 'DoesNotExist') return own === undefined
    return list(values).includes(own) === (operator === 'In')
  }
  return (
    Object.entries(object(selector.matchLabels)).every(([key, wanted]) => value(key) === wanted) &&
    list(selector.matchExpressions).map(object).every(isMet)
  )
}

const firstFree = ({ from, to, family }: Range, taken: readonly Address[]): Address | null => {
  const used = new Set(
    taken.filter((address) => address.family === family).map(({ value }) => value),
  )
  for (let value = from; value <= to; value++) if (!used.has(value)) return { value, family }
  return null
}

/** Writes a pool's status. The counts are in the conditions' messages. */
const count = (objects: Objects, pool: Pool, taken: readonly Address[], at: string): void => {
  const total = pool.ranges.reduce((sum, range) => sum + sizeOf(range), 0n)
  const within = (address: Address): boolean =>
    pool.ranges.some((range) => contains(range, address))
  const isReserved = (address: Address): boolean =>
    pool.reserved.some((other) => same(other, address))
  const used = BigInt(
    pool.reserved.length +
      taken.filter((address) => within(address) && !isReserved(address)).length,
  )
  for (const [type, number] of [
    ['cilium.io/IPsTotal', total],
    ['cilium.io/IPsAvailable', total - used],
    ['cilium.io/IPsUsed', used],
  ] as const)
    setCondition(
      pool.conditions,
      { type, status: 'Unknown', reason: 'noreason', message: String(number) },
      pool.generation,
      at,
    )
  write(
    objects,
    pool.target,
    { status: pool.status },
    { ...pool.status, conditions: pool.conditions },
  )
}

const setCondition = (
  conditions: Condition[],
  wanted: Omit<Condition, 'observedGeneration' | 'lastTransitionTime'>,
  observedGeneration: number,
  at: string,
): void => {
  const existing = conditions.find(({ type }) => type === wanted.type)
  if (!existing) conditions.push({ ...wanted, observedGeneration, lastTransitionTime: at })
  else
    Object.assign(existing, wanted, {
      observedGeneration,
      lastTransitionTime: existing.status === wanted.status ? existing.lastTransitionTime : at,
    })
}

const write = (objects: Objects, target: Target, { status }: Body, wanted: Body): void => {
  if (!isDeepStrictEqual(status ?? {}, wanted))
    objects.setStatus(target, wanted, 'cilium-operator-lb-ipam')
}
