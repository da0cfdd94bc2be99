import { useQuery } from '@tanstack/react-query'
import { Suspense, useMemo, useState } from 'react'
import { type Cluster, clusterCreate, clusterList } from '#contract/clusters/clusters.ts'
import { clusterImport } from '#contract/clusters/takeover.ts'
import { no } from '#contract/rule.ts'
import { everyCluster, everyDatacenter } from '../../../api/every.ts'
import { allowed } from '../../../api/session.ts'
import { useCommands } from '../../../layout/search/commands.ts'
import { PageCount } from '../../../layout/navigation/Breadcrumbs.tsx'
import { ListToolbar, type SetListSearch, useList } from '../../../layout/lists/use-list.tsx'
import type { ListSearch } from '../../../lib/list-search.ts'
import { versionShown } from '../../../lib/text.ts'
import { paths } from '../../../lib/paths.ts'
import { navigate } from '../../../lib/router.ts'
import type { Action } from '../../../ui/actions.ts'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { Button } from '../../../ui/inputs/Button.tsx'
import { part } from '../../../ui/part.tsx'
import { DataTable, nameWidth } from '../../../ui/table/DataTable.tsx'
import { listColumns } from '../../../ui/table/list-columns.tsx'
import { Site } from '../../../ui/pictures/Flag.tsx'
import { Menu } from '../../../ui/overlay/Menu.tsx'
import { useChosen, useSelection } from '../../../ui/table/selection.ts'
import { Empty } from '../../../ui/feedback/States.tsx'
import { showKeys, clusterActions } from '../cluster-actions.ts'
import { clustersQuery } from '../cluster-queries.ts'
import { WantedUpgrade } from '../WantedUpgrade.tsx'
import { canShowNewKeys, isKeyNew } from '../cluster-state.ts'
import { ClusterState } from './ClusterState.tsx'

const loadGroups = () => import('../../../layout/groups/groups.tsx')
const GroupedClusters = part(async () => ({ default: (await loadGroups()).GroupedClusters }))
const LabelChips = part(() => import('../../../layout/labels/LabelChips.tsx'))

const clusterColumns = listColumns(clusterList.list, {
  name: {
    fixed: true,
    card: 'name',
    width: (from) => (from.md ? nameWidth : 164),
    cell: (c) => c.name,
  },
  datacenter: {
    width: 116,
    card: 'fact',
    cell: (c) => <Site code={c.datacenter.code} country={c.datacenter.country_code} />,
  },
  servers: {
    width: 94,
    from: 'md',
    cell: (c) => (
      <span className="num" title={`${c.control_planes} control plane, ${c.workers} worker`}>
        {c.control_planes} + {c.workers}
      </span>
    ),
  },
  kubernetes_version: { width: 108, from: 'md', cell: (c) => versionShown(c.kubernetes_version) },
  talos_version: { width: 84, from: 'md', cell: (c) => versionShown(c.talos_version) },
  wanted: {
    from: 'xl',
    width: 190,
    cell: (c) =>
      c.upgrade ? <WantedUpgrade upgrade={c.upgrade} /> : <span className="t3">–</span>,
  },
  subnets: {
    from: 'xl',
    width: 170,
    cell: (c) =>
      c.subnets.length === 0 ? (
        <span className="t3">–</span>
      ) : (
        <span className="mono">{c.subnets.map((s) => s.cidr).join(', ')}</span>
      ),
  },
  status: {
    card: 'state',
    cell: (c) => <ClusterState cluster={c} />,
  },
  labels: {
    width: 220,
    from: 'md',
    cell: ({ labels = {} }) =>
      Object.keys(labels).length === 0 ? (
        <span className="t3">–</span>
      ) : (
        <Suspense fallback={null}>
          <LabelChips labels={labels} of="cluster" inList />
        </Suspense>
      ),
  },
})

/** What clusters are made of, beside the list. */
const more: readonly Action[] = [
  { label: 'Templates', icon: 'copy', to: paths.templates() },
  { label: 'Shared patches', icon: 'edit', to: paths.sharedPatches() },
]

const idOf = (c: Cluster) => c.id
const nameOf = (c: Cluster) => c.name
const hrefOf = (c: Cluster) => paths.cluster(c.id)
const actionsOf = (c: Cluster) => clusterActions(c, 'list')

/** The versions that clusters have, as options of a filter. */
const versionsOf = (clusters: readonly Cluster[], of: 'talos_version' | 'kubernetes_version') =>
  [...new Set(clusters.map((c) => c[of]))]
    .toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }))
    .map((value) => ({ value, text: versionShown(value) }))

export function ClustersPage({
  search,
  setSearch,
}: {
  search: ListSearch
  setSearch: SetListSearch
}) {
  const answer = useQuery(clustersQuery(search))
  const { data: page } = answer
  const state = useList(clusterList.list, clusterColumns, { search, setSearch }, answer)
  const selection = useSelection()
  const { data: datacenters } = useQuery(everyDatacenter)
  // The filters of versions are behind a button until they are set.
  const [isFiltering, setFiltering] = useState(false)
  const { data: every } = useQuery({
    ...everyCluster,
    enabled: isFiltering || 'talos_version' in search || 'kubernetes_version' in search,
  })
  const options = {
    talos_version: versionsOf(every?.items ?? [], 'talos_version'),
    kubernetes_version: versionsOf(every?.items ?? [], 'kubernetes_version'),
    datacenter: (datacenters?.items ?? []).map((d) => ({
      value: d.code,
      text: d.code,
      hint: d.city_name,
    })),
  }
  const items = useMemo(() => page?.items ?? [], [page])
  const { chosen, remember } = useChosen(selection.keys, page?.items, idOf)

  const create = useMemo<Action>(
    () => ({
      label: 'Create cluster',
      icon: 'add',
      can: allowed(clusterCreate),
      run: () => navigate(paths.createCluster()),
    }),
    [],
  )
  const take = useMemo<Action>(
    () => ({
      label: 'Import cluster',
      icon: 'download',
      can: allowed(clusterImport),
      run: () => navigate(paths.importCluster),
    }),
    [],
  )
  const fresh = items.filter(isKeyNew)
  const menu = useMemo<Action[]>(
    () => [
      {
        label:
          chosen.length > 0
            ? `Show the keys of ${chosen.length} selected`
            : 'Show the keys of selected clusters',
        icon: 'key',
        can: chosen.length > 0 ? undefined : no('Select clusters first'),
        run: () => showKeys(chosen),
      },
      {
        // Only the clusters of this page are known.
        label:
          (page?.total ?? 0) > items.length
            ? 'Show the keys of the new clusters on this page'
            : 'Show the keys of all new clusters',
        icon: 'key',
        hint: `${fresh.length}`,
        can: canShowNewKeys(items),
        run: () => showKeys(fresh),
      },
      take,
    ],
    [chosen, fresh, items, page?.total, take],
  )
  const commands = useMemo(() => [create, ...menu], [create, menu])
  useCommands('Clusters', commands)

  const createButton = <ActionButton {...create} kind="primary" />
  const firstButtons = (
    <>
      {createButton}
      <ActionButton {...take} icon={undefined} />
    </>
  )
  const table = {
    ...state.table,
    rowKey: idOf,
    rowName: nameOf,
    href: hrefOf,
    actions: actionsOf,
    selection,
    bulk: {
      actions: [{ label: 'Show cluster keys', icon: 'key' as const, run: () => showKeys(chosen) }],
    },
    empty: (
      <Empty
        title="No clusters yet"
        text="Choose free servers of a datacenter; Steelyard makes a Kubernetes cluster of them. Or import an existing cluster."
        actions={firstButtons}
      />
    ),
  }
  const { group } = search
  return (
    <>
      <PageCount n={page?.total} />
      <ListToolbar
        state={state}
        placeholder="Name, datacenter, version or status"
        options={options}
        onFilters={() => setFiltering(true)}
      >
        <Menu
          label="Actions"
          trigger={
            <Button icon="more" aria-label="Actions">
              <span className="hide-sm">Actions</span>
            </Button>
          }
          items={[...menu, 'rule', ...more]}
        />
        {!state.isEmpty && (
          <ActionButton {...create} kind={chosen.length > 0 ? 'plain' : 'primary'} />
        )}
      </ListToolbar>
      {group ? (
        <Suspense fallback={null}>
          <GroupedClusters
            by={group}
            itemsOf={clustersQuery}
            {...{ search, setSearch, table, chosen, remember }}
          />
        </Suspense>
      ) : (
        <DataTable {...table} />
      )}
    </>
  )
}
