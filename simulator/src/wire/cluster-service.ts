import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect'
import { durationMs } from '@bufbuild/protobuf/wkt'
import type { ClusterService } from '#talos/proto/gen/cluster/cluster_pb.ts'
import type { Machine } from '../machine/machine.ts'
import { onControlPlane, machineOf } from './peer.ts'

const LOOK_EVERY_MS = 250

interface Members {
  all: readonly Machine[]
  controlPlanes: readonly Machine[]
}

/** A check of the cluster. Returns a description of the problem, or null. */
type Check = (members: Members) => string | null

const service =
  (id: string, of: keyof Members): Check =>
  (members) => {
    for (const machine of members[of]) {
      const found = machine.services.get(id)
      if (!machine.isOn || !found) return `${machine.plan.address}: service "${id}" not found`
      if (!machine.services.isUp(id))
        return `${machine.plan.address}: service "${id}" not in expected state "Running": current state [${found.state}] ${found.events.at(-1)?.message ?? ''}`
    }
    return null
  }

const each =
  (of: keyof Members, isFine: (machine: Machine) => boolean, what: string): Check =>
  (members) => {
    const names = members[of].filter((machine) => !isFine(machine)).map(({ plan }) => plan.address)
    return names.length === 0 ? null : `${what}: [${names.join(' ')}]`
  }

/**
 * Checks in Talos's order and words (pkg/cluster/check/default.go), without the checks of workload
 * pods.
 */
const CHECKS: readonly [string, Check][] = [
  ['etcd to be healthy', service('etcd', 'controlPlanes')],
  [
    'etcd members to be consistent across nodes',
    each(
      'controlPlanes',
      (machine) => machine.etcdCluster?.hasQuorum === true,
      'etcd has no leader on',
    ),
  ],
  [
    'etcd members to be control plane nodes',
    each(
      'controlPlanes',
      (machine) =>
        machine.etcdCluster?.member(machine.disk.state.etcd?.member ?? '')?.learner === false,
      'no etcd member on nodes',
    ),
  ],
  ['apid to be ready', service('apid', 'all')],
  ['kubelet to be healthy', service('kubelet', 'controlPlanes')],
  [
    'all nodes to finish boot sequence',
    each('all', ({ stage }) => stage.stage === 'running', 'nodes are still booting'),
  ],
  [
    'all control plane components to be ready',
    each('controlPlanes', ({ apiServerUp }) => apiServerUp, 'no kube-apiserver on nodes'),
  ],
  [
    'all k8s nodes to report ready',
    each('all', ({ nodeReady }) => nodeReady, 'some nodes are not ready'),
  ],
]

/** The server-side health check of a cluster, made by a control plane. */
export const clusterService: ServiceImpl<typeof ClusterService> = {
  async *healthCheck({ waitTimeout, clusterInfo }, context) {
    const machine = machineOf(context)
    onControlPlane(machine, 'cluster health check')
    const asked = [...(clusterInfo?.controlPlaneNodes ?? []), ...(clusterInfo?.workerNodes ?? [])]
    const own = machine.config!.node!.cluster
    const all = machine.world.machines.filter(({ config, plan }) =>
      asked.length > 0
        ? asked.includes(plan.address)
        : config?.node?.cluster.id === own.id && config.node.cluster.secret === own.secret,
    )
    const controlPlanes = all.filter(({ config, plan }) =>
      asked.length > 0
        ? clusterInfo!.controlPlaneNodes.includes(plan.address)
        : config?.node?.role === 'controlplane',
    )
    yield { message: `discovered nodes: [${all.map(({ plan }) => `"${plan.address}"`).join(' ')}]` }
    // The timeout is in real time, as the caller measures it, not in simulated time.
    const signal = AbortSignal.any([
      context.signal,
      AbortSignal.timeout(waitTimeout ? durationMs(waitTimeout) : 0),
    ])
    for (const [what, check] of CHECKS) {
      yield { message: `waiting for ${what}: ...` }
      let last: string | null = '...'
      for (;;) {
        const amiss = check({ all, controlPlanes })
        if (amiss !== last) yield { message: `waiting for ${what}: ${amiss ?? 'OK'}` }
        last = amiss
        if (amiss === null) break
        if (signal.aborted)
          throw new ConnectError('context deadline exceeded', Code.DeadlineExceeded)
        await machine.looksAgainAfter(LOOK_EVERY_MS, signal).catch(() => undefined)
      }
    }
  },
}
