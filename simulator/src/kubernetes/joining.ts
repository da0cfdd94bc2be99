import type { EtcdCluster } from '../cluster/etcd.ts'
import type { NodeConfig } from '../config/node-config.ts'
import { object } from '../config/shape.ts'
import type { Machine } from '../machine/machine.ts'
import { builtIn } from './kinds.ts'

/**
 * Whether a machine's kubelet can reach an API server: that of its own etcd cluster, or of its
 * cluster id.
 */
const reaches = (machine: Machine, server: Machine): boolean => {
  if (!server.apiServerUp || server.etcdCluster?.hasQuorum !== true) return false
  const own = machine.disk.state.etcd?.cluster
  return own === undefined
    ? server.config?.node?.cluster.id === machine.config?.node?.cluster.id
    : server.disk.state.etcd?.cluster === own
}

const authoritiesOf = ({ cluster }: NodeConfig): string[] => [
  ...(cluster.ca ? [cluster.ca.crt] : []),
  ...cluster.acceptedCas,
]

/**
 * Whether a bootstrap token exists: Talos creates a Secret for the token of its configuration, and
 * never deletes one (Talos: k8stemplates/kubelet.go).
 */
const isToken = (server: Machine, token: string): boolean => {
  if (server.config?.node?.cluster.token === token) return true
  const [id = '', secret = ''] = token.split('.')
  const stored =
    server.etcdCluster?.state.kubernetes.objects[
      `/${builtIn('secrets').plural}/kube-system/bootstrap-token-${id}`
    ]
  return (
    stored !== undefined &&
    Buffer.from(String(object(stored.body.data)['token-secret']), 'base64').toString() === secret
  )
}

/**
 * The authority of the kubelet's certificate. Null if it has none, or one that Talos removes
 * (Talos: controllers/k8s/kubelet_service.go, refreshKubeletCerts).
 */
const certificateOf = (machine: Machine, node: NodeConfig): string | null => {
  const { kubelet } = machine.disk.state
  return kubelet && kubelet.name === machine.hostname && authoritiesOf(node).includes(kubelet.ca)
    ? kubelet.ca
    : null
}

/**
 * Whether an API server and a kubelet accept each other: the kubelet trusts the authority of the
 * server's certificate, and the server that of the kubelet's. A kubelet without a certificate needs
 * a bootstrap token.
 */
const accepts = (server: Machine, machine: Machine): boolean => {
  const node = machine.config?.node
  const other = server.config?.node
  if (!node || !other?.cluster.ca || !authoritiesOf(node).includes(other.cluster.ca.crt))
    return false
  const certificate = certificateOf(machine, node)
  return certificate === null
    ? isToken(server, node.cluster.token)
    : authoritiesOf(other).includes(certificate)
}

/**
 * The cluster to which a machine's kubelet reports, if one of the cluster's API servers answers and
 * both accept each other.
 */
export const kubernetesOf = (machine: Machine): EtcdCluster | undefined =>
  machine.world.machines.find((server) => reaches(machine, server) && accepts(server, machine))
    ?.etcdCluster

/** Whether API servers answer, and none of them accepts the kubelet. */
export const isLockedOut = (machine: Machine): boolean => {
  const servers = machine.world.machines.filter((server) => reaches(machine, server))
  return servers.length > 0 && !servers.some((server) => accepts(server, machine))
}

/**
 * Gives a kubelet that joins with its token a certificate of the authority that issues certificates
 * at the moment.
 */
export const certify = (cluster: EtcdCluster, machine: Machine): void => {
  const issuer = (cluster.leader && cluster.machineOf(cluster.leader))?.config?.node?.cluster.ca
    ?.crt
  if (issuer === undefined || certificateOf(machine, machine.config!.node!) !== null) return
  machine.disk.change((state) => (state.kubelet = { ca: issuer, name: machine.hostname }))
}
