import { randomUUID } from 'node:crypto'
import type { EtcdCluster } from '../cluster/etcd.ts'
import type { DeprecatedApi } from '../cluster/stored.ts'
import { type Body, list, object, text } from '../config/shape.ts'
import type { World } from '../world.ts'
import { mergePatch } from './changing/patch.ts'
import { setLoadBalancer } from './balancing/controller.ts'
import {
  CILIUM_POOLS,
  type LoadBalancer,
  METALLB_NAMESPACE,
  METALLB_POOLS,
} from './balancing/definitions.ts'
import { formatAddress } from './balancing/ranges.ts'
import { addService, SERVICES, servicesOf, type ServiceOptions } from './balancing/services.ts'
import { builtIn } from './kinds.ts'
import { Objects } from './objects.ts'
import type { Target } from './kinds.ts'
import { addCounting, type CountingWish, showCounting } from './workloads/counting.ts'
import { notFound, Refusal } from './refusal.ts'

/**
 * Makes changes in a simulated cluster as another person would: adds and removes Services, changes
 * and deletes objects.
 */
export type Hand = ReturnType<typeof handOf>

export const clustersOf = (world: World): Hand[] =>
  world.etcd.all
    .filter(({ state }) => state.members.length > 0)
    .map((cluster) => handOf(world, cluster))

/**
 * The cluster with this name or Talos id, preferably one with quorum; undefined if no cluster
 * matches. The methods of the result throw `Refusal` if Kubernetes refuses or etcd has no leader.
 */
export const handOn = (world: World, which: string): Hand | undefined => {
  const found = world.etcd.all.filter(
    ({ state }) => (state.name === which || state.talosId === which) && state.members.length > 0,
  )
  const cluster = found.find(({ hasQuorum }) => hasQuorum) ?? found.at(-1)
  return cluster && handOf(world, cluster)
}

const handOf = (world: World, cluster: EtcdCluster) => {
  const objects = (): Objects => {
    if (!cluster.hasQuorum) throw new Refusal(409, 'Conflict', 'etcdserver: no leader')
    return new Objects(cluster, world.clock.now)
  }
  const target = (plural: string, name: string): Target => {
    const kind = objects().kinds.find((candidate) => candidate.plural === plural)
    if (!kind) throw notFound(plural, name)
    return { kind, namespace: kind.namespaced ? METALLB_NAMESPACE : '', name }
  }
  return {
    show: () => show(cluster, new Objects(cluster, world.clock.now)),
    setLoadBalancer: (wanted: LoadBalancer) => setLoadBalancer(cluster, objects(), wanted),
    addService: (service: ServiceOptions) => addService(objects(), service),
    removeService: (namespace: string, name: string) =>
      void objects().remove({ kind: SERVICES, namespace, name }),
    /**
     * Merges a change into an object of a load balancer, like `kubectl edit`. `plural` is the
     * plural name of the object's kind.
     */
    edit(plural: string, name: string, change: Body) {
      const place = target(plural, name)
      const { metadata, ...rest } = objects().get(place)
      const { resourceVersion: _, ...kept } = object(metadata)
      objects().replace(
        place,
        object(mergePatch({ ...rest, metadata: kept }, change)),
        'kubectl-edit',
      )
    },
    /** Creates a counting workload and returns its new identity. */
    addWorkload(wish: Omit<CountingWish, 'identity'>): string {
      const identity = randomUUID()
      addCounting(objects(), { ...wish, identity })
      return identity
    },
    /** Calls an API that is deprecated, as an old program would. */
    callDeprecated(api: DeprecatedApi): void {
      cluster.change(
        ({ kubernetes }) =>
          (kubernetes.deprecatedApis = [...(kubernetes.deprecatedApis ?? []), api]),
      )
    },
    remove: (plural: string, name: string) => void objects().remove(target(plural, name)),
  }
}

const show = (cluster: EtcdCluster, objects: Objects) => {
  const { state } = cluster
  const loadBalancer = state.kubernetes.loadBalancer ?? null
  const kind =
    loadBalancer === 'cilium' ? CILIUM_POOLS : loadBalancer === 'metallb' ? METALLB_POOLS : null
  return {
    simulated: true,
    id: state.talosId,
    name: state.name,
    hasQuorum: cluster.hasQuorum,
    loadBalancer,
    /** The UID of the namespace kube-system, which identifies a cluster. */
    uid: text(
      object(
        objects.get({ kind: builtIn('namespaces'), namespace: '', name: 'kube-system' }).metadata,
      ).uid,
    ),
    workloads: showCounting(objects),
    counters: cluster.counters,
    services: servicesOf(objects)
      .filter(({ isLoadBalancer }) => isLoadBalancer)
      .map(({ target, body, addresses }) => ({
        namespace: target.namespace,
        name: target.name,
        type: text(object(body.spec).type) || 'ClusterIP',
        addresses: addresses.map(formatAddress),
      })),
    pools: (kind ? objects.list(kind, '') : []).map(({ metadata, spec, status }) => ({
      name: text(object(metadata).name),
      spec: object(spec),
      status: conditions(object(status)),
    })),
  }
}

/** One line per condition. */
const conditions = (status: Body): Body =>
  status.conditions === undefined
    ? status
    : Object.fromEntries(
        list(status.conditions).map((condition) => [
          text(object(condition).type),
          text(object(condition).message) || object(condition).status,
        ]),
      )
