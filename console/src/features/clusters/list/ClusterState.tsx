import { queryOptions, useQuery } from '@tanstack/react-query'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { call } from '../../../api/client.ts'
import { allowed } from '../../../api/session.ts'
import { StatusReason } from '../../../ui/feedback/Status.tsx'
import { worstSaid } from '../cluster-state.ts'

/**
 * The servers of each cluster, with the worst finding of each. One request for all rows. The call is
 * loaded when it is asked, from the file of the lists in groups: one of its own would be a name in
 * the script of all pages.
 */
const serversByCluster = queryOptions({
  queryKey: ['serverGroups', { by: 'cluster' }],
  queryFn: async ({ signal }) => {
    const { serverGroups } = await import('../../../layout/groups/groups.tsx')
    return call(serverGroups, { query: { by: 'cluster' } }, signal)
  },
})

/** What is worst of a cluster and its servers, as the header of its page says it. */
export function ClusterState({ cluster }: { cluster: Cluster }) {
  const { data: servers = null } = useQuery({
    ...serversByCluster,
    enabled: allowed({ scope: 'servers:read' }).ok,
    select: ({ items }) => items.find(({ value }) => value === cluster.id)?.finding ?? null,
  })
  return <StatusReason {...worstSaid(cluster, servers)} />
}
