import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useMemo } from 'react'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { type EtcdMemberHealth, etcdRole, type NodeHealth } from '#contract/clusters/health.ts'
import { paths } from '../../../lib/paths.ts'
import { sentence } from '../../../lib/text.ts'
import { memory } from '../../../lib/units.ts'
import { Empty } from '../../../ui/feedback/States.tsx'
import { Badge, StatusReason } from '../../../ui/feedback/Status.tsx'
import { columns, DataTable } from '../../../ui/table/DataTable.tsx'
import { healthOf } from '../cluster-queries.ts'
import css from './Health.module.css'
import { CertificatesTable } from './CertificatesTable.tsx'

const unknown = <span className="t3">Unknown</span>
const bytes = (size: number | null): ReactNode => (size === null ? unknown : memory(size))

const ofServer = ({ node_id, name }: { node_id: string | null; name: string }): ReactNode =>
  node_id === null ? name : <a href={paths.server(node_id)}>{name}</a>

/** Number of pods, as a link to them. */
const podsOf =
  (clusterId: string) =>
  ({ pods, node_id, name }: NodeHealth): ReactNode =>
    pods === null ? (
      unknown
    ) : node_id === null ? (
      pods
    ) : (
      <a href={paths.clusterPods(clusterId, node_id)} aria-label={`${pods} pods of ${name}`}>
        {pods}
      </a>
    )

const roleOf = (unreported: string | null, m: EtcdMemberHealth): ReactNode => {
  const role = etcdRole(unreported, m)
  return role === 'unknown' ? unknown : sentence(role)
}

const memberColumns = (unreported: string | null) =>
  columns<EtcdMemberHealth>([
    {
      id: 'name',
      head: 'Member',
      card: 'name',
      width: (from) => (from.md ? 200 : 156),
      cell: ofServer,
    },
    { id: 'standing', head: 'Role', width: 96, card: 'fact', cell: (m) => roleOf(unreported, m) },
    { id: 'version', head: 'Version', width: 90, from: 'lg', cell: (m) => m.version ?? unknown },
    {
      id: 'size',
      head: 'Database',
      numeric: true,
      width: 100,
      from: 'md',
      cell: (m) => bytes(m.size_bytes),
    },
    {
      id: 'used',
      head: 'In use',
      numeric: true,
      width: 100,
      from: 'md',
      cell: (m) => bytes(m.in_use_bytes),
    },
    {
      id: 'alarms',
      head: 'Alarms',
      width: 120,
      from: 'md',
      cell: (m) =>
        m.alarms === null ? (
          unknown
        ) : m.alarms.length === 0 ? (
          <span className="t3">None</span>
        ) : (
          <Badge tone="danger">{m.alarms.join(', ').toUpperCase()}</Badge>
        ),
    },
    {
      id: 'healthy',
      head: 'State',
      card: 'state',
      cell: ({ healthy, reason }) => (
        <StatusReason
          tone={healthy === null ? 'off' : healthy ? 'ok' : 'danger'}
          word={healthy === null ? 'Unknown' : healthy ? 'Healthy' : 'Not healthy'}
          why={reason}
          tall
        />
      ),
    },
  ])

const nodeColumns = (clusterId: string) =>
  columns<NodeHealth>([
    {
      id: 'name',
      head: 'Node',
      card: 'name',
      width: (from) => (from.md ? 200 : 156),
      cell: ofServer,
    },
    {
      id: 'role',
      head: 'Role',
      width: 112,
      from: 'sm',
      cell: (n) =>
        n.role === null ? '–' : n.role === 'control_plane' ? 'Control plane' : 'Worker',
    },
    { id: 'pods', head: 'Pods', numeric: true, width: 84, from: 'md', cell: podsOf(clusterId) },
    {
      id: 'kubelet',
      head: 'Kubelet',
      width: 90,
      from: 'md',
      cell: (n) => n.kubelet_version ?? unknown,
    },
    { id: 'talos', head: 'Talos', width: 90, from: 'lg', cell: (n) => n.talos_version ?? unknown },
    {
      id: 'schedulable',
      head: 'New pods',
      width: 104,
      card: 'fact',
      // Kubernetes taints a node that is not Ready, so it gets no new pods either.
      cell: (n) =>
        n.schedulable === null ? (
          unknown
        ) : !n.schedulable ? (
          <Badge tone="warn">Cordoned</Badge>
        ) : n.ready === true ? (
          'Accepted'
        ) : (
          <span className="t3">None</span>
        ),
    },
    {
      id: 'ready',
      head: 'State',
      card: 'state',
      cell: ({ ready, reason }) => (
        <StatusReason
          tone={ready === null ? 'off' : ready ? 'ok' : 'danger'}
          word={ready === null ? 'Unknown' : ready ? 'Ready' : 'Not ready'}
          why={reason}
          tall
        />
      ),
    },
  ])

/** The health of a cluster with each member of etcd and each node. */
export default function HealthTab({ cluster }: { cluster: Cluster }) {
  const { data, error, refetch } = useQuery(healthOf(cluster.id))
  const reason = data?.etcd.reason ?? null
  const members = useMemo(() => memberColumns(reason), [reason])
  const nodes = useMemo(() => nodeColumns(cluster.id), [cluster.id])
  const shared = { error, onRetry: () => void refetch(), grows: true } as const
  return (
    <div className={css['health']}>
      <section className="stack stack2">
        <h2 className="h2">Members of etcd</h2>
        <DataTable
          {...shared}
          label={`Members of etcd of ${cluster.name}`}
          rows={data?.etcd.members}
          columns={members}
          rowKey={(m) => `${m.id} ${m.name}`}
          rowName={(m) => m.name}
          empty={<Empty title="No control plane answers" text={reason} />}
        />
      </section>
      <section className="stack stack2">
        <h2 className="h2">Nodes</h2>
        <DataTable
          {...shared}
          label={`Nodes of ${cluster.name}`}
          rows={data?.nodes}
          columns={nodes}
          rowKey={(n) => `${n.node_id} ${n.name}`}
          rowName={(n) => n.name}
          empty={<Empty title="No nodes" />}
        />
      </section>
      <CertificatesTable cluster={cluster} />
    </div>
  )
}
