/** Lists in groups, in one file: its name is in the script of all pages. */
import { type Cluster, clusterList } from '#contract/clusters/clusters.ts'
import { clusterGroups } from '#contract/clusters/groups.ts'
import { clusterLabels, serverLabels } from '#contract/labels/known.ts'
import { serverGroups } from '#contract/servers/groups.ts'
import { type ListedServer, serverList } from '#contract/servers/server.ts'
import { query } from '../../api/query.ts'
import { type ListSearch, narrowingOf } from '../../lib/list-search.ts'
import { GroupedList, type GroupedProps } from './GroupedList.tsx'
import { GroupMenu, type GroupMenuProps } from './GroupMenu.tsx'
import { groupedClusters, groupedServers } from './kinds.ts'

export { serverGroups }

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
export const ServerGroupMenu = (props: GroupMenuProps) => (
  <GroupMenu list={serverList.list} labels={serverLabels} {...props} />
)
export const ClusterGroupMenu = (props: GroupMenuProps) => (
  <GroupMenu list={clusterList.list} labels={clusterLabels} {...props} />
)
