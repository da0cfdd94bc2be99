/**
 * Compares a cluster's objects with the applied ones: pure functions of untrusted objects.
 *
 * Only fields that Steelyard writes are compared. Fields added by others (such as a selector that
 * limits a pool to a namespace) are left alone (Kubernetes, "Server-Side Apply").
 */
import { createHash } from 'node:crypto'
import { isRecord, printable } from '../../kubernetes/answers.ts'
import type { KubernetesObject } from './manifest.ts'

/** A hash of the wanted object, to distinguish later changes by others from our own. */
export const hashOf = (object: KubernetesObject | readonly KubernetesObject[]): string =>
  createHash('sha256').update(JSON.stringify(object)).digest('hex')

/** API server defaults by field of the spec. */
const defaults: Readonly<Record<string, unknown>> = {
  disabled: false,
  autoAssign: true,
  avoidBuggyIPs: false,
  externalIPs: false,
  loadBalancerIPs: false,
}
/** Maximum number of list entries that are compared. */
const mostEntries = 5_000

/** A value as text; deeply nested values give a fixed text. */
function textOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? 'nothing'
  } catch {
    return 'nested too deep'
  }
}

const strings = (list: unknown): unknown =>
  Array.isArray(list)
    ? list
        .slice(0, mostEntries)
        .map((item: unknown) => textOf(item))
        .toSorted()
    : list

/**
 * Normalises a Cilium block: its Go type serialises a missing CIDR as `cidr: ""`, and a block with
 * a single address may lack `stop`.
 */
function block(value: unknown): unknown {
  if (!isRecord(value)) return value
  const { cidr, start, stop } = value
  return {
    ...(cidr !== undefined && cidr !== '' && { cidr }),
    start,
    stop: stop === undefined || stop === '' ? start : stop,
  }
}

const normal = (field: string, value: unknown): unknown => {
  if (value === undefined) return defaults[field]
  if (field === 'blocks' && Array.isArray(value))
    return strings(value.slice(0, mostEntries).map(block))
  return field === 'addresses' || field === 'ipAddressPools' || field === 'interfaces'
    ? strings(value)
    : value
}

/** Deep equality that ignores the order of keys. */
function same(a: unknown, b: unknown): boolean {
  if (Array.isArray(a))
    return Array.isArray(b) && a.length === b.length && a.every((item, i) => same(item, b[i]))
  if (isRecord(a))
    return (
      isRecord(b) &&
      Object.keys(a).length === Object.keys(b).length &&
      Object.keys(a).every((key) => same(a[key], b[key]))
    )
  return a === b
}

/**
 * Fields written by Steelyard that differ in the cluster, or null if none differs. A missing object
 * gives `deleted`.
 */
export function differences(wanted: KubernetesObject, live: unknown): readonly string[] | null {
  if (!isRecord(live)) return ['deleted']
  const spec = isRecord(live['spec']) ? live['spec'] : {}
  const changed = Object.keys(wanted.spec).filter(
    (field) => !same(normal(field, wanted.spec[field]), normal(field, spec[field])),
  )
  return changed.length === 0 ? null : changed
}

/**
 * The load balancer's view of a pool. `seen`: the load balancer has processed the pool's current
 * state. `used`: number of assigned addresses, if reported.
 */
export type Acceptance =
  | { readonly is: 'accepted'; readonly used: number | null }
  | { readonly is: 'waiting'; readonly reason: string }
  | { readonly is: 'refused'; readonly reason: string }

/** `total`: the wanted number of addresses in the pool. */
export const acceptance = (object: KubernetesObject, live: unknown, total: bigint): Acceptance =>
  object.kind === 'CiliumLoadBalancerIPPool'
    ? ciliumAccepts(live, total)
    : metallbAccepts(live, total, object)

interface Condition {
  readonly status: unknown
  readonly message: string
  readonly observedGeneration: unknown
}

/**
 * Reads the conditions of Cilium's operator (operator/pkg/lbipam): counts are in their messages,
 * with the generation that was counted.
 */
function ciliumAccepts(live: unknown, total: bigint): Acceptance {
  const generation =
    isRecord(live) && isRecord(live['metadata']) ? live['metadata']['generation'] : undefined
  const conditions = conditionsOf(live)
  const conflict = conditions.get('cilium.io/PoolConflict')
  if (conflict?.status === 'True')
    return {
      is: 'refused',
      reason: `Cilium does not use the pool: ${conflict.message || 'it conflicts with another'}`,
    }
  const counted = conditions.get('cilium.io/IPsTotal')
  const isCurrent =
    counted !== undefined &&
    (typeof counted.observedGeneration !== 'number' || counted.observedGeneration === generation)
  if (conflict?.status !== 'False' || !isCurrent)
    return { is: 'waiting', reason: 'Cilium has not processed the pool yet' }
  if (!/^\d{1,40}$/.test(counted.message) || BigInt(counted.message) !== total)
    return {
      is: 'refused',
      reason: `Cilium counts ${counted.message || 'no'} addresses in the pool instead of ${total}`,
    }
  const used = conditions.get('cilium.io/IPsUsed')
  return {
    is: 'accepted',
    used: used && /^\d{1,9}$/.test(used.message) ? Number(used.message) : null,
  }
}

/**
 * MetalLB's webhook refuses an invalid pool. Newer versions report counts of addresses
 * (IPAddressPoolStatus), but not the generation they belong to.
 */
function metallbAccepts(live: unknown, total: bigint, object: KubernetesObject): Acceptance {
  const status = isRecord(live) && isRecord(live['status']) ? live['status'] : {}
  const family = String((object.spec['addresses'] as readonly string[])[0]).includes(':')
    ? 'IPv6'
    : 'IPv4'
  const [assigned, available] = [status[`assigned${family}`], status[`available${family}`]]
  if (!Number.isSafeInteger(assigned) || !Number.isSafeInteger(available))
    return { is: 'accepted', used: null }
  const counts = { assigned: assigned as number, available: available as number }
  if (
    total <= BigInt(Number.MAX_SAFE_INTEGER) &&
    BigInt(counts.assigned + counts.available) !== total
  )
    return {
      is: 'waiting',
      reason: `MetalLB counts ${counts.assigned + counts.available} addresses in the pool so far, of ${total}`,
    }
  return { is: 'accepted', used: counts.assigned }
}

function conditionsOf(live: unknown): ReadonlyMap<string, Condition> {
  const status = isRecord(live) && isRecord(live['status']) ? live['status'] : {}
  const list: unknown[] = Array.isArray(status['conditions'])
    ? status['conditions'].slice(0, 64)
    : []
  return new Map(
    list.filter(isRecord).map((c): [string, Condition] => [
      String(c['type']),
      {
        status: c['status'],
        message: typeof c['message'] === 'string' ? printable(c['message']) : '',
        observedGeneration: c['observedGeneration'],
      },
    ]),
  )
}

/** The values found in the cluster, shortened for the audit log. */
export function foundInstead(changed: readonly string[], live: unknown): object {
  if (!isRecord(live)) return { pool: 'deleted' }
  const spec = isRecord(live['spec']) ? live['spec'] : {}
  return Object.fromEntries(changed.map((field) => [field, printable(textOf(spec[field]))]))
}
