import { useQuery } from '@tanstack/react-query'
import { no, yes } from '#contract/rule.ts'
import { clusterSubnetsAssign, type Subnet } from '#contract/network/subnets.ts'
import { counted } from '#contract/words.ts'
import { allowed } from '../../api/session.ts'
import { paths } from '../../lib/paths.ts'
import { navigate } from '../../lib/router.ts'
import { both } from '../../ui/actions.ts'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { CopyButton } from '../../ui/text/Copyable.tsx'
import { columns, DataTable } from '../../ui/table/DataTable.tsx'
import { ownNames } from '../../ui/table/text-width.ts'
import { YamlText } from '../../ui/text/YamlText.tsx'
import { Panel } from '../../ui/text/Panel.tsx'
import { Empty, ErrorState, SkeletonRows, Stale } from '../../ui/feedback/States.tsx'
import css from './ClusterAddresses.module.css'
import { clusterSubnetsOf } from './network-queries.ts'
import { SubnetStatus, SubnetUse } from './list/subnet-columns.tsx'

const rows = columns<Subnet>([
  {
    id: 'name',
    head: 'Subnet',
    card: 'name',
    width: ownNames,
    cell: (s) => s.name,
  },
  {
    id: 'cidr',
    head: 'CIDR',
    card: 'fact',
    width: 170,
    cell: (s) => <span className="mono fs12">{s.cidr}</span>,
  },
  {
    id: 'gateway',
    head: 'Gateway',
    from: 'lg',
    width: 140,
    cell: (s) => (s.gateway === null ? '–' : <span className="mono fs12">{s.gateway}</span>),
  },
  { id: 'used', head: 'Used', from: 'sm', width: 200, cell: (s) => <SubnetUse subnet={s} /> },
  { id: 'status', head: 'Status', card: 'state', cell: (s) => <SubnetStatus subnet={s} /> },
])
const providers = { cilium: 'Cilium', metallb: 'MetalLB' } as const

/** The subnets of a cluster with their state, and the manifest of its load balancer. */
export default function ClusterAddresses({
  cluster,
}: {
  cluster: { id: string; name: string; status: string }
}) {
  const { data, error, isRefetchError, dataUpdatedAt, refetch } = useQuery(
    clusterSubnetsOf(cluster.id),
  )
  const onRetry = () => void refetch()
  if (data === undefined)
    return error ? <ErrorState boxed error={error} onRetry={onRetry} /> : <SkeletonRows rows={4} />
  const stands =
    cluster.status === 'ready' || cluster.status === 'degraded'
      ? yes
      : no('The cluster is not ready yet')
  const assign = (
    <ActionButton
      label="Assign subnets"
      kind="primary"
      can={both(allowed(clusterSubnetsAssign), stands)}
      run={() => navigate(paths.assignSubnets({ cluster: cluster.id, step: 'subnets' }))}
    />
  )
  return (
    <>
      <div className="row wrap">
        <span className="t2 fs13">{counted(data.items.length, 'subnet')}</span>
        <a className="fs13" href={paths.network({ cluster: cluster.name })}>
          Show in Network
        </a>
        {data.items.length > 0 && <span className="right">{assign}</span>}
      </div>
      <DataTable
        label={`Subnets of ${cluster.name}`}
        rows={data.items}
        columns={rows}
        rowKey={(s) => s.id}
        rowName={(s) => s.name}
        href={(s) => paths.network({ q: s.name, open: s.id })}
        notice={isRefetchError && <Stale at={dataUpdatedAt} error={error} onRetry={onRetry} />}
        grows
        empty={
          <Empty
            title="No subnets"
            text="Assign a subnet of the cluster's datacenter, so that Services of type LoadBalancer get addresses."
            actions={assign}
          />
        }
      />
      {data.manifest.trim() !== '' && (
        <Manifest
          manifest={data.manifest}
          provider={data.provider === null ? null : providers[data.provider]}
        />
      )}
    </>
  )
}

/** The load balancer's manifest, to copy if Steelyard doesn't know the cluster's load balancer. */
const Manifest = ({ manifest, provider }: { manifest: string; provider: string | null }) => (
  <Panel
    title="Manifest"
    note={
      provider === null
        ? 'load balancer unknown: apply the manifest yourself'
        : `applied to ${provider}`
    }
    actions={<CopyButton text={manifest} />}
    flush
  >
    <YamlText className={css['manifest']} text={manifest} label="Manifest" />
  </Panel>
)
