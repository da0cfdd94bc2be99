import type { EtcdCluster } from '../../cluster/etcd.ts'
import { list, object, text } from '../../config/shape.ts'
import { TAKES } from '../../machine/durations.ts'
import type { Machine } from '../../machine/machine.ts'
import { builtIn } from '../kinds.ts'
import { Objects } from '../objects.ts'
import { balanceCilium } from './cilium.ts'
import {
  definitionsOf,
  LOAD_BALANCERS,
  type LoadBalancer,
  METALLB_NAMESPACE,
} from './definitions.ts'
import { balanceMetallb } from './metallb.ts'
import { addNamespace, addService, servicesOf } from './services.ts'

const DEFINITIONS = builtIn('customresourcedefinitions')

/** Services in a new cluster, so that some addresses are in use. */
const DEMO = [
  { namespace: 'ingress', name: 'gateway', ports: [80, 443] },
  { namespace: 'shop', name: 'storefront', ports: [443] },
  { namespace: 'git', name: 'ssh', ports: [22] },
]

/**
 * The load balancer's controller: runs on one control plane at a time and reacts with a delay. The
 * controller installs its custom resource definitions when the cluster is new.
 */
export const runLoadBalancer = async (machine: Machine, signal: AbortSignal): Promise<void> => {
  let seen = ''
  for (;;) {
    await machine.looksAgainAfter(TAKES.balance, signal)
    const cluster = machine.etcdCluster
    if (!cluster || !machine.apiServerUp || cluster.leader?.machine !== machine.plan.index) continue
    if (`${cluster.state.id} ${cluster.state.kubernetes.resourceVersion}` === seen) continue
    const objects = new Objects(cluster, machine.world.clock.now)
    if (cluster.state.kubernetes.loadBalancer === undefined) {
      setLoadBalancer(cluster, objects, machine.world.loadBalancer)
      // A cluster that was restored from a snapshot has them already.
      const known = new Set(servicesOf(objects).map(({ target }) => target.name))
      for (const service of DEMO) if (!known.has(service.name)) addService(objects, service)
    }
    if (cluster.state.kubernetes.loadBalancer === 'cilium')
      balanceCilium(objects, machine.world.clock.now())
    if (cluster.state.kubernetes.loadBalancer === 'metallb') balanceMetallb(objects)
    seen = `${cluster.state.id} ${cluster.state.kubernetes.resourceVersion}`
  }
}

/**
 * Installs a load balancer. Removes all other load balancers with their objects and the addresses
 * that they have assigned.
 */
export const setLoadBalancer = (
  cluster: EtcdCluster,
  objects: Objects,
  wanted: LoadBalancer,
): void => {
  const before = cluster.state.kubernetes.loadBalancer
  if (before === wanted) return
  const present = new Set(
    objects.list(DEFINITIONS, '').map(({ metadata }) => text(object(metadata).name)),
  )
  const nameOf = (definition: Record<string, unknown>): string =>
    text(object(definition.metadata).name)
  for (const other of LOAD_BALANCERS.filter((which) => which !== wanted))
    for (const name of definitionsOf(other).map(nameOf))
      if (present.has(name)) objects.remove({ kind: DEFINITIONS, namespace: '', name })
  for (const definition of definitionsOf(wanted))
    if (!present.has(nameOf(definition))) objects.create(DEFINITIONS, '', definition, wanted)
  if (wanted === 'metallb') addNamespace(objects, METALLB_NAMESPACE)
  if (before !== undefined)
    for (const { target, body } of servicesOf(objects))
      if (list(object(object(body.status).loadBalancer).ingress).length > 0)
        objects.setStatus(target, { loadBalancer: {} }, wanted)
  cluster.change((state) => (state.kubernetes.loadBalancer = wanted))
}
