import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { unitsOf } from '#contract/capacity.ts'
import type { Cluster } from '#contract/clusters/clusters.ts'
import type { ListedServer } from '#contract/servers/servers.ts'
import { everyServerOf } from '../../../api/every.ts'
import { paths } from '../../../lib/paths.ts'
import { versionShown } from '../../../lib/text.ts'
import { Empty, Stale } from '../../../ui/feedback/States.tsx'
import { StatusReason } from '../../../ui/feedback/Status.tsx'
import { columns, DataTable } from '../../../ui/table/DataTable.tsx'
import { configurationSaid, contactSaid, nodeSaid } from '../cluster-state.ts'
import { certificatesSaid } from './certificates-said.ts'

type Row = Cluster['servers'][number] & {
  server: ListedServer | undefined
  /** The Talos version that it should have. */
  wanted: string
  /** Its certificates that should be renewed by now. */
  certificates: ReturnType<typeof certificatesSaid>
}

const unknown = <span className="t3">Unknown</span>

/** Room for the longest word of a status. */
const statusWidth = { least: 150 }

const rowColumns = columns<Row>([
  {
    id: 'name',
    head: 'Server',
    card: 'name',
    width: (from) => (from.md ? { least: 140, most: 200 } : 156),
    cell: (r) => r.name,
  },
  {
    id: 'role',
    head: 'Role',
    width: 112,
    card: 'fact',
    cell: (r) => (r.role === 'control_plane' ? 'Control plane' : 'Worker'),
  },
  {
    id: 'address',
    head: 'Address',
    width: 130,
    from: 'md',
    cell: (r) =>
      r.server?.nodeAddresses[0] ? (
        <span className="mono">{r.server.nodeAddresses[0]}</span>
      ) : (
        <span className="t3">No Addresses</span>
      ),
  },
  {
    id: 'units',
    head: 'CU',
    numeric: true,
    width: 64,
    from: 'xl',
    cell: (r) => r.server && (unitsOf(r.server.hardware) ?? unknown),
  },
  {
    id: 'talos',
    head: 'Talos',
    width: 84,
    from: 'md',
    cell: (r) => (r.server?.talos.version ? versionShown(r.server.talos.version) : unknown),
  },
  {
    id: 'wanted',
    head: 'Wanted',
    width: 84,
    from: 'lg',
    // Only what differs is to be read.
    cell: (r) =>
      r.server?.talos.version === r.wanted ? (
        <span className="t3">–</span>
      ) : (
        <b>{versionShown(r.wanted)}</b>
      ),
  },
  {
    id: 'configuration',
    head: 'Configuration',
    width: 165,
    from: 'xl',
    cell: (r) => r.server && <StatusReason {...configurationSaid(r.server)} />,
  },
  {
    id: 'certificates',
    head: 'Certificates',
    width: 165,
    from: 'xl',
    cell: (r) =>
      r.certificates ? <StatusReason {...r.certificates} /> : <span className="t3">–</span>,
  },
  {
    id: 'kubernetes',
    head: 'Kubernetes',
    card: 'state',
    width: (from) => (from.md ? statusWidth : undefined),
    cell: (r) => r.server && <StatusReason {...nodeSaid(r.server)} tall />,
  },
  {
    id: 'contact',
    head: 'Contact',
    card: 'fact',
    width: (from) => (from.md ? statusWidth : undefined),
    cell: (r) => r.server && <StatusReason {...contactSaid(r.server)} tall />,
  },
])

/** Beside other panels, what says whether the servers are well. The tab of the servers has all. */
const briefColumns = rowColumns.filter(
  ({ id }) => !['address', 'units', 'configuration', 'certificates'].includes(id),
)

/** The servers of a cluster and their state. `brief`: beside other panels, with fewer columns. */
export function ClusterServers({ cluster, brief = false }: { cluster: Cluster; brief?: boolean }) {
  const { data, error, isRefetchError, dataUpdatedAt, refetch } = useQuery(
    everyServerOf(cluster.id),
  )
  const onRetry = () => void refetch()
  const rows = useMemo(() => {
    const known = new Map(data?.items.map((s) => [s.id, s]))
    const { upgrade } = cluster
    const wanted =
      upgrade?.of === 'talos' && upgrade.version !== null ? upgrade.version : cluster.talos_version
    return (
      data &&
      cluster.servers.map((s) => ({
        ...s,
        wanted,
        certificates: certificatesSaid(cluster, s.name),
        server: known.get(s.node_id),
      }))
    )
  }, [cluster, data])
  return (
    <DataTable
      label={`Servers of ${cluster.name}`}
      rows={rows}
      columns={brief ? briefColumns : rowColumns}
      rowKey={(r) => r.node_id}
      rowName={(r) => r.name}
      href={(r) => paths.server(r.node_id)}
      error={error}
      onRetry={onRetry}
      notice={isRefetchError && <Stale at={dataUpdatedAt} error={error} onRetry={onRetry} />}
      grows
      empty={<Empty title="No servers" />}
    />
  )
}
