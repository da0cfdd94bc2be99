/** Lists in groups, in one file: its name is in the script of all pages. */
import { type Cluster, clusterList } from '#contract/clusters/clusters.ts'
import { clusterGroups } from '#contract/clusters/groups.ts'
import { serverGroups } from '#contract/servers/groups.ts'
import { type ListedServer, serverList } from '#contract/servers/server.ts'
import { query } from '../../api/query.ts'
import { type ListSearch, narrowingOf } from '../../lib/list-search.ts'
import { GroupedList, type GroupedProps } from './GroupedList.tsx'
import { groupedClusters, groupedServers } from './kinds.ts'

const groupsOfServers = (by: string, search: ListSearch) =>
  query(serverGroups, { query: { by, ...narrowingOf(serverList, search) } })
const groupsOfClusters = (by: string, search: ListSearch) =>
  query(clusterGroups, { query: { by, ...narrowingOf(clusterList, search) } })

export const GroupedServers = (props: GroupedProps<ListedServer>) => (
  <GroupedList kind={groupedServers} groupsOf={groupsOfServers} {...props} />
)
export const GroupedClusters = (props: GroupedProps<Cluster>) => (
  <GroupedList kind={groupedClusters} groupsOf={groupsOfClusters} {...props} />
)
