import { createHash } from 'node:crypto'
import type { EtcdCluster } from '../../cluster/etcd.ts'
import { type Body, object, text } from '../../config/shape.ts'
import { builtIn } from '../kinds.ts'
import type { Objects } from '../objects.ts'
import type { Target } from '../kinds.ts'
import { isReady, nameOf, namespaceOf, PODS, selects } from './pods.ts'

const STATEFUL_SETS = builtIn('statefulsets')
const BUDGETS = builtIn('poddisruptionbudgets')
const CONFIG_MAPS = builtIn('configmaps')
const NAMESPACE = 'default'
/** Marks the StatefulSets whose pods count. */
const COUNTS = 'simulator.steelyard/counts'
/** Simulated time between two counts. */
const EVERY_MS = 10_000

export interface CountingWish {
  name: string
  replicas: number
  /** `minAvailable` of the workload's PodDisruptionBudget. */
  minAvailable: number
  /** Tolerations of its pods; none by default. */
  tolerations?: readonly Body[]
  identity: string
}

const dataOf = (name: string): Target => ({
  kind: CONFIG_MAPS,
  namespace: NAMESPACE,
  name: `${name}-data`,
})
const next = (digest: string, serial: number): string =>
  createHash('sha256').update(`${digest}/${serial}`).digest('hex')

/**
 * Creates a workload with data: a StatefulSet, its budget, and a config map with a counter of its
 * pods. Each count continues a chain of hashes that begins with the workload's identity, so lost
 * counts, repeated counts and another identity are detected.
 */
export const addCounting = (
  objects: Objects,
  { name, replicas, minAvailable, tolerations, identity }: CountingWish,
): void => {
  const labels = { app: name }
  const selector = { matchLabels: labels }
  const containers = [{ name: 'counter', image: 'registry.example/counter:1' }]
  objects.together(() => {
    objects.create(
      CONFIG_MAPS,
      NAMESPACE,
      {
        metadata: { name: `${name}-data` },
        data: { identity, serial: '0', digest: next(identity, 0) },
      },
      'counter',
    )
    objects.create(
      BUDGETS,
      NAMESPACE,
      { metadata: { name }, spec: { minAvailable, selector } },
      'counter',
    )
    objects.create(
      STATEFUL_SETS,
      NAMESPACE,
      {
        metadata: { name, labels: { [COUNTS]: 'true' } },
        spec: {
          replicas,
          serviceName: name,
          selector,
          template: {
            metadata: { labels },
            spec: { containers, ...(tolerations && { tolerations }) },
          },
        },
      },
      'counter',
    )
  })
}

const due = new WeakMap<EtcdCluster, number>()

/**
 * Lets every counting workload with a ready pod count once if it is due. Returns when the next
 * count is due, in simulated milliseconds.
 */
export const countAll = (cluster: EtcdCluster, objects: Objects, elapsed: number): number => {
  const at = due.get(cluster) ?? elapsed
  if (at > elapsed) return at
  const counting = objects
    .list(STATEFUL_SETS, NAMESPACE)
    .filter((set) => object(object(set.metadata).labels)[COUNTS] === 'true')
  if (counting.length === 0) return Number.POSITIVE_INFINITY
  due.set(cluster, elapsed + EVERY_MS)
  const pods = objects.list(PODS, NAMESPACE)
  for (const set of counting) {
    const target = dataOf(nameOf(set))
    const isChosen = selects(object(set.spec).selector)
    if (
      !objects.has(target) ||
      !pods.some(
        (pod) =>
          namespaceOf(pod) === NAMESPACE &&
          isReady(pod) &&
          isChosen(object(object(pod.metadata).labels)),
      )
    )
      continue
    const data = object(objects.get(target).data)
    const serial = Number(data.serial) + 1
    objects.replace(
      target,
      {
        metadata: { name: target.name },
        data: { ...data, serial: String(serial), digest: next(text(data.digest), serial) },
      },
      'counter',
    )
  }
  return elapsed + EVERY_MS
}

/**
 * The counting workloads of a cluster. `isIntact`: the chain of hashes belongs to the identity and
 * the serial number.
 */
export const showCounting = (objects: Objects) =>
  objects
    .list(STATEFUL_SETS, NAMESPACE)
    .filter((set) => object(object(set.metadata).labels)[COUNTS] === 'true')
    .map((set) => {
      const target = dataOf(nameOf(set))
      const { identity, serial, digest } = object(
        objects.has(target) ? objects.get(target).data : {},
      )
      return {
        name: nameOf(set),
        identity: text(identity),
        serial: Number(serial),
        isIntact: digest === chain(text(identity), Number(serial)),
        replicas: Number(object(set.spec).replicas),
        ready: Number(object(set.status).readyReplicas ?? 0),
      }
    })

const chain = (identity: string, serial: number): string => {
  let digest = identity
  for (let number = 0; number <= serial; number++) digest = next(digest, number)
  return digest
}
