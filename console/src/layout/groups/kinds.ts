/** What the lists of servers and of clusters say of their groups. Pure. */
import { type Cluster, clusterList } from '#contract/clusters/clusters.ts'
import { type ListedServer, serverList } from '#contract/servers/server.ts'
import { paths } from '../../lib/paths.ts'
import { sentence, versionShown } from '../../lib/text.ts'
import type { GroupedKind } from './grouping.ts'

export const groupedServers: GroupedKind<ListedServer> = {
  list: serverList.list,
  values: {
    cluster: (s) => s.cluster?.id,
    rack: (s) => s.placement?.rack.id,
    datacenter: (s) => s.datacenter?.id,
    finding: (s) => s.finding?.kind,
  },
  listHref: paths.servers,
  hrefOf: (by, value, name) => {
    if (by === 'cluster') return paths.cluster(value)
    if (by === 'rack') return paths.rack(value)
    if (by === 'finding') return paths.findings({ kind: value })
    return paths.datacenters({ q: name })
  },
}

export const groupedClusters: GroupedKind<Cluster> = {
  list: clusterList.list,
  values: {
    status: (c) => c.status,
    finding: (c) => c.finding?.kind,
    datacenter: (c) => c.datacenter.id,
    talos_version: (c) => c.talos_version,
    kubernetes_version: (c) => c.kubernetes_version,
  },
  said: { talos_version: 'version of Talos', kubernetes_version: 'version of Kubernetes' },
  shown: {
    status: sentence,
    talos_version: (version) => `Talos ${versionShown(version)}`,
    kubernetes_version: (version) => `Kubernetes ${versionShown(version)}`,
  },
  listHref: paths.clusters,
  // The filter shows the code, not the id.
  hrefOf: (by, _value, name, search) =>
    by === 'datacenter' ? paths.clusters({ ...search, datacenter: name }) : null,
}
