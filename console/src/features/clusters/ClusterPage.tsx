import { useQuery } from '@tanstack/react-query'
import { type ReactNode, Suspense, useMemo } from 'react'
import { capacityOf, computeUnits } from '#contract/capacity.ts'
import { canDownloadKubeconfig, canDownloadTalosconfig, type Cluster, clusterKubeconfig, clusterTalosconfig } from '#contract/clusters/clusters.ts'
import { type Server, serverList } from '#contract/servers/servers.ts'
import { CallError } from '../../api/client.ts'
import { query } from '../../api/query.ts'
import { allowed } from '../../api/session.ts'
import { useCommands } from '../../layout/search/commands.ts'
import { paths } from '../../lib/paths.ts'
import { exact, moment } from '../../lib/time.ts'
import { memory } from '../../lib/units.ts'
import { both } from '../../ui/actions.ts'
import { Button, ButtonLink, IconButton } from '../../ui/inputs/Button.tsx'
import { Copyable } from '../../ui/text/Copyable.tsx'
import { columns, DataTable } from '../../ui/table/DataTable.tsx'
import { Flag } from '../../ui/pictures/Flag.tsx'
import { Menu } from '../../ui/overlay/Menu.tsx'
import { Facts, KeyValue, PageHeader, Panel } from '../../ui/text/Panel.tsx'
import { Empty, ErrorState, SkeletonRows } from '../../ui/feedback/States.tsx'
import { Alert, StatusDot, StatusReason } from '../../ui/feedback/Status.tsx'
import { Tabs } from '../../ui/text/Tabs.tsx'
import { kubeconfigAction, talosconfigAction, clusterActions } from './cluster-actions.ts'
import { ClusterEvents } from './ClusterEvents.tsx'
import css from './ClusterPage.module.css'
import { clusterOne } from './cluster-queries.ts'
import { clusterSaid, contactSaid, endpointShown, isUnderWay, nodeSaid, versionShown } from './cluster-state.ts'
import { ClusterSettings } from './ClusterSettings.tsx'
import { ClusterTimeline } from './ClusterTimeline.tsx'

const clusterTabs = ['overview', 'servers', 'timeline', 'addresses', 'keys', 'events', 'settings'] as const
export type ClusterTab = (typeof clusterTabs)[number]

/** The servers of a cluster with their hardware and state. */
const clusterServersQuery = (id: string) => query(serverList, { query: { cluster: id } })

interface ClusterPageProps {
  id: string
  tab: string | undefined
  /** Id of the operation whose timeline is shown. */
  operation: string | undefined
  addresses: (cluster: Cluster) => ReactNode
  /** Notices about its servers that need a decision. */
  above: ReactNode
}

/** One cluster. During creation it opens on the timeline. The tab Addresses is a separate feature. */
export function ClusterPage({ id, tab, operation, addresses, above }: ClusterPageProps) {
  const { data: cluster, error, refetch } = useQuery(clusterOne(id))
  if (error instanceof CallError && error.status === 404) return <NotFound sentence={error.message} />
  if (cluster === undefined) return error ? <ErrorState boxed error={error} onRetry={() => void refetch()} /> : <SkeletonRows rows={10} />
  const current = clusterTabs.find((t) => t === tab) ?? (isUnderWay(cluster) ? 'timeline' : 'overview')
  return <Shown cluster={cluster} tab={current} operation={operation} addresses={addresses} above={above} />
}

/** The cluster doesn't exist, or was deleted while the page was open. */
function NotFound({ sentence }: { sentence: string }) {
  return (
    <>
      <h1 className="sr">Cluster not found</h1>
      <Empty
        boxed
        title={sentence}
        text="It was deleted, it never existed, or you may not see it."
        actions={
          <ButtonLink kind="primary" href={paths.clusters()}>
            All clusters
          </ButtonLink>
        }
      />
    </>
  )
}

interface ShownProps {
  cluster: Cluster
  tab: ClusterTab
  operation: string | undefined
  addresses: (cluster: Cluster) => ReactNode
  above: ReactNode
}

function Shown({ cluster, tab, operation, addresses, above }: ShownProps) {
  const actions = useMemo(() => clusterActions(cluster, 'page'), [cluster])
  useCommands(`Act on ${cluster.name}`, actions)
  const { tone, word } = clusterSaid(cluster)
  const link = (id: ClusterTab) => paths.cluster(cluster.id, id)
  return (
    <>
      <PageHeader
        name={cluster.name}
        status={
          <StatusDot tone={tone} why={cluster.reason} whole>
            {word}
          </StatusDot>
        }
        actions={
          <>
            <DownloadButton cluster={cluster} />
            <Menu
              label={`Actions for ${cluster.name}`}
              items={actions.filter((a) => a.label !== 'Kubeconfig')}
              trigger={<IconButton icon="more" label="More actions" />}
            />
          </>
        }
      >
        <Facts
          rows={[
            [
              'Location',
              <span key="l" className="row">
                <Flag code={cluster.datacenter.country_code} />
                {cluster.datacenter.code}
              </span>,
            ],
            [
              'Servers',
              <span key="s">
                <span className="num">
                  {cluster.control_planes} + {cluster.workers}
                </span>{' '}
                <span className="t3">control plane + worker</span>
              </span>,
            ],
            ['Kubernetes', versionShown(cluster.kubernetes_version)],
            ['Talos', versionShown(cluster.talos_version)],
            [
              'API endpoint',
              <Copyable key="e" value={cluster.endpoint} what="API endpoint">
                {endpointShown(cluster.endpoint)}
              </Copyable>,
            ],
            [
              'Created',
              <time key="c" dateTime={cluster.created_at} title={exact(cluster.created_at)}>
                {moment(cluster.created_at)}
              </time>,
            ],
          ]}
        />
      </PageHeader>
      <Troubles troubles={cluster.troubles} />
      {above}
      <Tabs
        label="Cluster"
        current={tab}
        tabs={[
          { id: 'overview', text: 'Overview', href: link('overview') },
          { id: 'servers', text: 'Servers', count: cluster.servers.length, href: link('servers') },
          { id: 'timeline', text: 'Timeline', href: link('timeline') },
          { id: 'addresses', text: 'Addresses', count: cluster.subnets.length, href: link('addresses') },
          { id: 'keys', text: 'Keys', href: link('keys') },
          { id: 'events', text: 'Events', href: link('events') },
          { id: 'settings', text: 'Settings', href: link('settings') },
        ]}
      />
      <div className={css['tab']}>
        {tab === 'overview' && <Overview cluster={cluster} />}
        {tab === 'servers' && <Servers cluster={cluster} />}
        {tab === 'timeline' && <ClusterTimeline cluster={cluster} chosen={operation} />}
        {tab === 'addresses' && <Suspense fallback={<SkeletonRows rows={4} />}>{addresses(cluster)}</Suspense>}
        {tab === 'keys' && <Keys cluster={cluster} />}
        {tab === 'events' && <ClusterEvents id={cluster.id} />}
        {tab === 'settings' && <ClusterSettings cluster={cluster} ending={actions.filter((a) => a.danger)} />}
      </div>
    </>
  )
}

/** What Steelyard can't do with the cluster now, shown on every tab. */
function Troubles({ troubles }: Pick<Cluster, 'troubles'>) {
  if (troubles.length === 0) return null
  return (
    <Alert tone="warn" className={css['troubles'] ?? ''}>
      <b>Something that Steelyard does for this cluster fails.</b> It is tried again by itself.
      <ul>
        {troubles.map(({ node_id, message }) => (
          <li key={message}>
            {message}
            {node_id !== null && (
              <>
                {' '}
                <a href={paths.server(node_id)}>Open the server</a>
              </>
            )}
          </li>
        ))}
      </ul>
    </Alert>
  )
}

function DownloadButton({ cluster }: { cluster: Cluster }) {
  const action = kubeconfigAction(cluster)
  return (
    <Button icon="download" can={action.can} onClick={() => void action.run?.()}>
      Kubeconfig
    </Button>
  )
}

function Overview({ cluster }: { cluster: Cluster }) {
  return (
    <>
      {cluster.status === 'degraded' && (
        <Alert tone="warn" className={css['alert'] ?? ''}>
          <b>The cluster is degraded.</b> {cluster.reason}
        </Alert>
      )}
      <div className={css['wide']}>
        <Servers cluster={cluster} />
        <Panel title="Network">
          <KeyValue
            rows={[
              [
                'Kubernetes API',
                <Copyable key="e" value={cluster.endpoint} what="API endpoint">
                  {endpointShown(cluster.endpoint)}
                </Copyable>,
              ],
              ['Endpoint', cluster.virtual_ip ? 'Virtual IP, held by the control planes' : 'Fixed address or name'],
              ['VLAN', cluster.vlan_id],
              [
                'Pod CIDR',
                <span key="p" className="mono">
                  {cluster.pod_cidr}
                </span>,
              ],
              [
                'Service CIDR',
                <span key="s" className="mono">
                  {cluster.service_cidr}
                </span>,
              ],
              [
                'IP subnets',
                cluster.subnets.length === 0 ? (
                  <a key="n" href={paths.cluster(cluster.id, 'addresses')}>
                    None yet
                  </a>
                ) : (
                  <span key="n">
                    {cluster.subnets.map((s) => (
                      <a key={s.id} className="mono row" href={paths.network({ q: s.name, open: s.id })}>
                        {s.cidr}
                      </a>
                    ))}
                  </span>
                ),
              ],
            ]}
          />
        </Panel>
      </div>
    </>
  )
}

interface Row {
  node_id: string
  name: string
  role: Cluster['servers'][number]['role']
  server: Server | undefined
}

const rowColumns = columns<Row>([
  { id: 'name', head: 'Server', card: 'name', width: (from) => (from.md ? 200 : 156), cell: (r) => r.name },
  { id: 'role', head: 'Role', width: 112, card: 'fact', cell: (r) => (r.role === 'control_plane' ? 'Control plane' : 'Worker') },
  {
    id: 'address',
    head: 'Address',
    width: 130,
    from: 'md',
    cell: (r) => (r.server?.nodeAddresses[0] ? <span className="mono">{r.server.nodeAddresses[0]}</span> : <span className="t3">No Addresses</span>),
  },
  {
    id: 'units',
    head: 'CU',
    numeric: true,
    width: 64,
    from: 'lg',
    cell: (r) => (r.server ? (computeUnits(r.server.resources) ?? <span className="t3">Unknown</span>) : ''),
  },
  {
    id: 'memory',
    head: 'Memory',
    numeric: true,
    width: 92,
    from: 'xl',
    cell: (r) => {
      const bytes = r.server ? capacityOf(r.server.resources).memory_bytes : null
      return bytes === null ? <span className="t3">Unknown</span> : memory(bytes)
    },
  },
  {
    id: 'kubernetes',
    head: 'Kubernetes',
    card: 'state',
    cell: (r) => {
      if (!r.server) return ''
      const { tone, word, why } = nodeSaid(r.server)
      return (
        <StatusReason tone={tone} why={why} tall>
          {word}
        </StatusReason>
      )
    },
  },
  {
    id: 'contact',
    head: 'Contact',
    card: 'fact',
    cell: (r) => {
      if (!r.server) return ''
      const { tone, word, why } = contactSaid(r.server)
      return (
        <StatusReason tone={tone} why={why} tall>
          {word}
        </StatusReason>
      )
    },
  },
])

function Servers({ cluster }: { cluster: Cluster }) {
  const { data, error, refetch } = useQuery(clusterServersQuery(cluster.id))
  const rows = useMemo<Row[] | undefined>(() => {
    const known = new Map(data?.items.map((s) => [s.id, s]))
    return data && cluster.servers.map((s) => ({ ...s, server: known.get(s.node_id) }))
  }, [cluster.servers, data])
  return (
    <DataTable
      label={`Servers of ${cluster.name}`}
      rows={rows}
      columns={rowColumns}
      rowKey={(r) => r.node_id}
      rowName={(r) => r.name}
      href={(r) => paths.server(r.node_id)}
      error={error}
      onRetry={() => void refetch()}
      grows
      empty={<Empty title="No servers" />}
    />
  )
}

/** Access to the cluster: its address, and credentials made for one download. Never shows a private key. */
function Keys({ cluster }: { cluster: Cluster }) {
  const kube = both(allowed(clusterKubeconfig), canDownloadKubeconfig(cluster))
  const talos = both(allowed(clusterTalosconfig), canDownloadTalosconfig(cluster))
  return (
    <div className={css['cols']}>
      <Panel title="Access">
        <div className="stack stack3">
          <p className="fs13 t2">Each download is made for you now and is valid for 24 hours. Every download is in the audit log.</p>
          <div className="row wrap">
            <Button icon="download" can={kube} onClick={() => void kubeconfigAction(cluster).run?.()}>
              Kubeconfig
            </Button>
            <Button icon="download" can={talos} onClick={() => void talosconfigAction(cluster).run?.()}>
              Talosconfig
            </Button>
          </div>
        </div>
      </Panel>
      <Panel title="Cluster key">
        <KeyValue
          rows={[
            ['Address', cluster.chainAddress === null ? null : <Copyable key="a" value={cluster.chainAddress} what="cluster address" />],
            ['Private key', 'Sealed; only the cluster has it, in kube-system/steelyard-cluster-key'],
            ['Offer', cluster.offerId === null ? null : <Copyable key="o" value={cluster.offerId} what="offer id" />],
          ]}
        />
      </Panel>
    </div>
  )
}
