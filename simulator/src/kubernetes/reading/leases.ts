import type { World } from '../../world.ts'
import { object, text } from '../../config/shape.ts'
import { builtIn } from '../kinds.ts'
import { heartbeatOf } from '../nodes.ts'
import type { Objects, Target } from '../objects.ts'
import { notFound } from '../refusal.ts'

type Body = Record<string, unknown>

const NAMESPACE = 'kube-node-lease'

/** The readable part of `Objects`. */
export type Source = Pick<Objects, 'list' | 'get' | 'resourceVersion'>

/** Stored leases plus the node leases that kubelets renew every ten seconds, which are computed on reading. */
export const withNodeLeases = (objects: Objects, world: World): Source => {
  const leases = (namespace: string): Body[] =>
    namespace === '' || namespace === NAMESPACE ? objects.list(builtIn('nodes'), '').map((node) => leaseOf(world, node)) : []
  return {
    resourceVersion: objects.resourceVersion,
    list: (kind, namespace) => [...objects.list(kind, namespace), ...leases(namespace)],
    get(target: Target) {
      if (objects.has(target)) return objects.get(target)
      const found = leases(target.namespace).find(({ metadata }) => object(metadata).name === target.name)
      if (!found) throw notFound('leases.coordination.k8s.io', target.name)
      return found
    },
  }
}

const leaseOf = (world: World, node: Body): Body => {
  const { name, uid, creationTimestamp, resourceVersion } = object(node.metadata)
  const microseconds = (at: string): string => at.replace(/(\.\d{3})?Z$/, '.000000Z')
  return {
    kind: 'Lease',
    apiVersion: 'coordination.k8s.io/v1',
    metadata: {
      name,
      namespace: NAMESPACE,
      // A stable uid of its own.
      uid: text(uid).replace(/^.{8}/, '00000000'),
      creationTimestamp,
      resourceVersion,
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name, uid }],
    },
    spec: { holderIdentity: name, leaseDurationSeconds: 40, renewTime: microseconds(heartbeatOf(world, node)) },
  }
}
