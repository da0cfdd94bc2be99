/**
 * Titles of the steps of operations on clusters. The key of a step about one server or subnet ends
 * with that object's id: `install/<id>`.
 */

interface Planned {
  readonly name: string
  readonly install_disk: string
  readonly workload_disks: readonly string[]
}

/** Steps of a server that joins a cluster. */
export const joiningSteps = {
  config: (s: Planned) => `Prepare the configuration of ${s.name}`,
  apply: (s: Planned) => `Send ${s.name} its configuration`,
  install: (s: Planned) => `Install Talos on ${s.name}, ${s.install_disk}`,
  boot: (s: Planned) => `${s.name} restarts and answers over its secured API`,
  etcd: (s: Planned) => `${s.name} is a healthy member of etcd`,
  join: (s: Planned) => `${s.name} is Ready in Kubernetes`,
}

/** Steps of a server that leaves a cluster. */
export const leavingSteps = {
  reset: (s: Planned) =>
    `Reset ${s.name}${s.workload_disks.length > 0 ? `, wiping ${s.workload_disks.join(', ')}` : ''}`,
  release: (s: Planned) => `${s.name} is back in maintenance`,
  'forget-member': (s: Planned) => `${s.name} is no member of etcd any more`,
  'forget-node': (s: Planned) => `${s.name} is no Kubernetes node any more`,
}

/** Steps about the whole cluster. */
export const wholeSteps = {
  secrets: () =>
    'Create the certificates and keys of the cluster, encrypt them and write the escrow file',
  bootstrap: () => 'Bootstrap etcd on one control plane',
  'control-plane': () => 'The control plane is healthy: etcd, trustd and the Kubernetes API',
  nodes: () => 'Every Kubernetes node is Ready',
  key: () => 'Put the cluster key into kube-system/steelyard-cluster-key',
  access: () => 'Give operators access to the cluster',
  forget: () => 'Forget the cluster',
}

/** Steps of a subnet that is assigned to a cluster or removed from a cluster. */
export const subnetSteps = {
  apply: (s: { readonly name: string }) => `Add ${s.name} to the load balancer`,
  'read-back': (s: { readonly name: string }) => `Check that the load balancer uses ${s.name}`,
  drain: (s: { readonly name: string }) => `Wait until no address of ${s.name} is in use`,
  remove: (s: { readonly name: string }) => `Remove ${s.name} from the cluster`,
}
