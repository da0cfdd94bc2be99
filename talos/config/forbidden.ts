/**
 * What a patch must not say because the cluster says it: identity, keys and tokens, roles, the installation, host names. A patch that could
 * would take a server out of its cluster, or the cluster over.
 */

/** Paths in the main document; what lies under one is forbidden too. */
export const forbiddenPaths: ReadonlyMap<string, string> = new Map([
  ['machine.type', 'the server’s role is chosen with the cluster'],
  ['machine.token', 'the machine token belongs to the cluster'],
  ['machine.ca', 'the authority of Talos’s API belongs to the cluster'],
  ['machine.acceptedCAs', 'the authorities of Talos’s API belong to the cluster'],
  ['machine.install.disk', 'the disk is chosen with the cluster'],
  ['machine.install.diskSelector', 'the disk is chosen with the cluster'],
  ['machine.install.image', 'the installer image follows from the Talos version and the server’s schematic'],
  ['machine.network.hostname', 'the host name is the server’s name'],
  ['machine.features.stableHostname', 'the host name is the server’s name'],
  ['cluster.id', 'it identifies the cluster'],
  ['cluster.secret', 'it identifies the cluster'],
  ['cluster.controlPlane', 'the endpoint is chosen with the cluster'],
  ['cluster.clusterName', 'the name is chosen with the cluster'],
  // The networks were checked against subnets, servers and each other; one server with others would be cut off.
  ['cluster.network.podSubnets', 'the pod network is chosen with the cluster'],
  ['cluster.network.serviceSubnets', 'the service network is chosen with the cluster'],
  ['cluster.token', 'the bootstrap token belongs to the cluster'],
  ['cluster.aescbcEncryptionSecret', 'the key belongs to the cluster'],
  ['cluster.secretboxEncryptionSecret', 'the key belongs to the cluster'],
  ['cluster.ca', 'the authority of Kubernetes belongs to the cluster'],
  ['cluster.acceptedCAs', 'the authorities of Kubernetes belong to the cluster'],
  ['cluster.aggregatorCA', 'the authority belongs to the cluster'],
  ['cluster.serviceAccount', 'the key belongs to the cluster'],
  ['cluster.etcd.ca', 'the authority of etcd belongs to the cluster'],
])

/** Documents that a patch can't have at all. */
export const forbiddenDocuments: ReadonlyMap<string, string> = new Map([['HostnameConfig', 'the host name is the server’s name']])

/** Paths that may be added to, but not deleted: through these names the server and the cluster are reached. */
const kept = ['machine.certSANs', 'cluster.apiServer.certSANs', 'machine.install']

/** Why a path must not be set, or undefined. */
export function settingProblem(path: string): string | undefined {
  for (const [forbidden, why] of forbiddenPaths) {
    if (path === forbidden || path.startsWith(`${forbidden}.`)) return `A patch can’t set ${forbidden}: ${why}`
  }
  return undefined
}

/** Why a path must not be deleted, or undefined: also where something forbidden lies under it. */
export function deletionProblem(path: string): string | undefined {
  const setting = settingProblem(path)
  if (setting !== undefined) return setting.replace('can’t set', 'can’t delete')
  const under = [...kept, ...forbiddenPaths.keys()].find((other) => other === path || other.startsWith(`${path}.`) || path.startsWith(`${other}.`))
  return under === undefined || (path.startsWith('machine.install.') && under === 'machine.install')
    ? undefined
    : `A patch can’t delete ${path}: ${under} has to stay`
}
