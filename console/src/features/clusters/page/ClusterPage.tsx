import { useQuery } from '@tanstack/react-query'
import { type ReactNode, Suspense, useMemo, useState } from 'react'
import { type Cluster, clusterEvents } from '#contract/clusters/clusters.ts'
import { clusterUpdate } from '#contract/clusters/update.ts'
import { keptOf } from '#contract/clusters/existing.ts'
import { yes } from '#contract/rule.ts'
import { CallError } from '../../../api/client.ts'
import { query } from '../../../api/query.ts'
import { allowed } from '../../../api/session.ts'
import { ClusterFindings, isInHead, Remedies } from '../../../layout/findings/ObjectFindings.tsx'
import { labelledOf } from '../../../layout/labels/labelled.ts'
import { ObjectLabels } from '../../../layout/labels/ObjectLabels.tsx'
import { useCommands } from '../../../layout/search/commands.ts'
import { paths } from '../../../lib/paths.ts'
import { versionShown } from '../../../lib/text.ts'
import type { Action } from '../../../ui/actions.ts'
import { Pending } from '../../../ui/feedback/PageStates.tsx'
import { SkeletonRows, Stale } from '../../../ui/feedback/States.tsx'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { Button, IconButton } from '../../../ui/inputs/Button.tsx'
import { Menu } from '../../../ui/overlay/Menu.tsx'
import { part } from '../../../ui/part.tsx'
import { Site } from '../../../ui/pictures/Flag.tsx'
import { EventTable } from '../../../ui/table/EventTable.tsx'
import { Time } from '../../../ui/table/list-columns.tsx'
import { Copyable } from '../../../ui/text/Copyable.tsx'
import { Fold } from '../../../ui/text/Fold.tsx'
import { Facts, KeyValue, PageHeader, Panel } from '../../../ui/text/Panel.tsx'
import { Tabs } from '../../../ui/text/Tabs.tsx'
import { changeActions } from '../change/change-actions.ts'
import { clusterActions, kubeconfigAction, talosconfigAction } from '../cluster-actions.ts'
import { ClusterNotFound } from '../ClusterNotFound.tsx'
import { clusterOne } from '../cluster-queries.ts'
import { clusterState, endpointShown, isUnderWay } from '../cluster-state.ts'
import { OfferPanel } from '../offers/OfferPanel.tsx'
import { KeptBinding, KeptKey } from './Kept.tsx'
import css from './ClusterPage.module.css'
import { ClusterServers } from './ClusterServers.tsx'
import { ClusterStatus } from './ClusterStatus.tsx'
import { ClusterTimeline } from './ClusterTimeline.tsx'
import { Troubles } from './Troubles.tsx'

const HealthLines = part(() => import('../health/HealthLines.tsx'))
const ScheduledChanges = part(() => import('../change/ScheduledChanges.tsx'))
const ClusterSnapshots = part(() => import('../snapshots/ClusterSnapshots.tsx'))
const WindowPanel = part(() => import('../change/WindowPanel.tsx'))
const HealthTab = part(() => import('../health/HealthTab.tsx'))
const HeldByFiles = part(() => import('./HeldByFiles.tsx'))
const ClusterUsage = part(() => import('./ClusterUsage.tsx'))

/** The tabs, and their texts. */
const clusterTabs = {
  overview: 'Overview',
  servers: 'Servers',
  timeline: 'Changes',
  addresses: 'Addresses',
  history: 'History',
  settings: 'Settings',
} as const
type ClusterTab = keyof typeof clusterTabs
/** Parts of a tab that were tabs before. Their URLs lead to the part. */
const partsOfTabs: Readonly<Record<string, ClusterTab>> = {
  health: 'overview',
  usage: 'overview',
  pods: 'servers',
  events: 'history',
  snapshots: 'settings',
  keys: 'settings',
}
const isTab = (text: string): text is ClusterTab => Object.hasOwn(clusterTabs, text)

interface ClusterPageProps {
  id: string
  tab: string | undefined
  /** Id of the operation whose timeline is shown. */
  operation: string | undefined
  addresses: (cluster: Cluster) => ReactNode
  pods: (cluster: Cluster) => ReactNode
  history: ReactNode
  /** Notices about the cluster's servers that need a user's decision. */
  above: ReactNode
}

/**
 * The page of one cluster. During the creation the page opens on the timeline. The tab Addresses is
 * a separate feature.
 */
export function ClusterPage({ id, tab, ...rest }: ClusterPageProps) {
  const answer = useQuery(clusterOne(id))
  const { data: cluster, error, isRefetchError, dataUpdatedAt, refetch } = answer
  if (error instanceof CallError && error.status === 404)
    return <ClusterNotFound title={error.message} />
  if (cluster === undefined) return <Pending of={answer} rows={10} />
  return (
    <>
      {isRefetchError && <Stale at={dataUpdatedAt} error={error} onRetry={() => void refetch()} />}
      <Shown key={id} cluster={cluster} tab={tab} {...rest} />
    </>
  )
}

type ShownProps = Omit<ClusterPageProps, 'id' | 'tab'> & {
  cluster: Cluster
  tab: string | undefined
}

function Shown({ cluster, tab: chosen, operation, addresses, pods, history, above }: ShownProps) {
  // The tab on which the page was opened stays when the operation ends.
  const [opened] = useState<ClusterTab>(isUnderWay(cluster) ? 'timeline' : 'overview')
  const part = chosen !== undefined && Object.hasOwn(partsOfTabs, chosen) ? chosen : undefined
  const tab =
    part === undefined
      ? chosen !== undefined && isTab(chosen)
        ? chosen
        : opened
      : partsOfTabs[part]!
  const actions = useMemo(() => clusterActions(cluster, 'page'), [cluster])
  const changes = useMemo(() => changeActions(cluster), [cluster])
  useCommands(
    `Act on ${cluster.name}`,
    useMemo(() => [...actions, ...changes], [actions, changes]),
  )
  const inHead = isInHead(cluster)
  const counts: Partial<Record<ClusterTab, number>> = {
    servers: cluster.servers.length,
    addresses: cluster.subnets.length,
  }
  return (
    <>
      <PageHeader
        name={cluster.name}
        status={<ClusterStatus cluster={cluster} />}
        sentence={
          cluster.said?.severity === 'attention' ? cluster.reason : clusterState(cluster).why
        }
        actions={
          <>
            {inHead && <Remedies of={cluster} here={paths.cluster(cluster.id)} />}
            <Menu
              label={`Change ${cluster.name}`}
              items={changes}
              trigger={<Button icon="edit">Change</Button>}
            />
            {!inHead && <ActionButton {...kubeconfigAction(cluster)} />}
            <Menu
              label={`Actions for ${cluster.name}`}
              items={inHead ? actions : actions.filter((a) => a.label !== 'Kubeconfig')}
              trigger={<IconButton icon="more" label="More actions" />}
            />
          </>
        }
      >
        <Facts
          rows={[
            [
              'Location',
              <a key="l" href={paths.datacenters({ q: cluster.datacenter.code })}>
                <Site code={cluster.datacenter.code} country={cluster.datacenter.country_code} />
              </a>,
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
            ['API endpoint', endpointOf(cluster)],
            [
              'Versions',
              <span key="v">
                Kubernetes {versionShown(cluster.kubernetes_version)}{' '}
                <span className="t3">Talos {versionShown(cluster.talos_version)}</span>
              </span>,
            ],
          ]}
        />
      </PageHeader>
      <ObjectLabels of={labelledOf('cluster', cluster)} call={clusterUpdate} can={yes} />
      <Troubles troubles={cluster.troubles} />
      {above}
      {cluster.files && (
        <Suspense fallback={null}>
          <HeldByFiles cluster={cluster} />
        </Suspense>
      )}
      <Tabs
        label="Cluster"
        current={tab}
        tabs={Object.entries(clusterTabs).map(([id, text]) => ({
          id,
          text,
          count: counts[id as ClusterTab],
          href: paths.cluster(cluster.id, id),
        }))}
      />
      <div className={css['tab']}>
        {tab === 'overview' && <Overview cluster={cluster} part={part} />}
        {tab === 'servers' && (
          <>
            <ClusterServers cluster={cluster} />
            <Fold title="Pods" isOpen={part === 'pods'}>
              <Suspense fallback={<SkeletonRows rows={7} />}>{pods(cluster)}</Suspense>
            </Fold>
          </>
        )}
        {tab === 'timeline' && <ClusterTimeline cluster={cluster} chosen={operation} />}
        {tab === 'history' && (
          <>
            {part !== 'events' && history}
            <Fold title="Downloads, calls and other events" isOpen={part === 'events'}>
              <Events id={cluster.id} />
            </Fold>
          </>
        )}
        {tab === 'addresses' && (
          <Suspense fallback={<SkeletonRows rows={4} />}>{addresses(cluster)}</Suspense>
        )}
        {tab === 'settings' && (
          <Settings cluster={cluster} part={part} ending={actions.filter((a) => a.danger)} />
        )}
      </div>
    </>
  )
}

const mono = (text: string) => <span className="mono">{text}</span>
const endpointOf = ({ endpoint }: Cluster) => (
  <Copyable value={endpoint} what="API endpoint" shown={endpointShown(endpoint)} />
)

function Overview({ cluster: c, part }: { cluster: Cluster; part: string | undefined }) {
  return (
    <>
      <ClusterFindings cluster={c} />
      {!isUnderWay(c) && (
        <Suspense fallback={<SkeletonRows rows={7} />}>
          <HealthLines cluster={c} quiet={isInHead(c)} />
          <ScheduledChanges cluster={c} />
        </Suspense>
      )}
      <ClusterServers cluster={c} brief />
      <Fold title="etcd, control planes, nodes and certificates" isOpen={part === 'health'}>
        <Suspense fallback={<SkeletonRows rows={7} />}>
          <HealthTab cluster={c} />
        </Suspense>
      </Fold>
      <Fold title="Usage over time" isOpen={part === 'usage'}>
        <Suspense fallback={<SkeletonRows rows={8} />}>
          <ClusterUsage id={c.id} />
        </Suspense>
      </Fold>
    </>
  )
}

/**
 * Access to the cluster: credentials created for each download, its address, and its offer. Never
 * shows a private key.
 */
const Keys = ({ cluster: c }: { cluster: Cluster }) => (
  <div className={css['cols']}>
    <div className="stack">
      <Panel title="Access">
        <div className="stack stack3">
          <p className="fs13 t2">
            Each download is created for you and is valid for 24 hours. Every download is recorded
            in the audit log.
          </p>
          <div className="row wrap">
            <ActionButton {...kubeconfigAction(c)} />
            <ActionButton {...talosconfigAction(c)} />
          </div>
          <KeptBinding cluster={c} />
        </div>
      </Panel>
      <Panel title="Cluster key">
        <div className="stack stack3">
          <KeyValue
            rows={[
              [
                'Address',
                keptOf(c, 'cluster_key') === null
                  ? c.chainAddress && <Copyable value={c.chainAddress} what="cluster address" />
                  : 'None of this Steelyard',
              ],
              [
                'Private key',
                'Not shown here; in the Secret kube-system/steelyard-cluster-key of the cluster',
              ],
            ]}
          />
          <KeptKey cluster={c} />
        </div>
      </Panel>
    </div>
    <OfferPanel cluster={c} />
  </div>
)

/**
 * Events of the cluster with their users. Downloads make no live event, so the list is refetched on
 * each visit.
 */
function Events({ id }: { id: string }) {
  const { data, error, isRefetchError, dataUpdatedAt, refetch } = useQuery({
    ...query(clusterEvents, { params: { id } }),
    staleTime: 0,
  })
  const onRetry = () => void refetch()
  return (
    <EventTable
      noun="cluster"
      rows={data?.items}
      notice={isRefetchError && <Stale at={dataUpdatedAt} error={error} onRetry={onRetry} />}
      error={error}
      onRetry={onRetry}
    />
  )
}

/**
 * The settings of the cluster, with its snapshots and the access to it. `ending`: the actions that
 * delete the cluster.
 */
const Settings = ({
  cluster: c,
  part,
  ending,
}: {
  cluster: Cluster
  part: string | undefined
  ending: readonly Action[]
}) => (
  <>
    <div className={css['cols']}>
      <Panel title="Configuration">
        <KeyValue
          rows={[
            ['Name', c.name],
            ['Created', <Time key="c" at={c.created_at} />],
            ['Datacenter', c.datacenter.code],
            ['Kubernetes', versionShown(c.kubernetes_version)],
            ['Talos', versionShown(c.talos_version)],
            ['API endpoint', endpointOf(c)],
            [
              'Endpoint type',
              c.virtual_ip ? 'Virtual IP, shared by the control planes' : 'Fixed address or name',
            ],
            ['VLAN ID', c.vlan_id ?? 'None, untagged'],
            ['Pod CIDR', mono(c.pod_cidr)],
            ['Service CIDR', mono(c.service_cidr)],
            allowed({ scope: 'marketplace:read' }).ok && [
              'Marketplace',
              <a key="m" href={paths.ccs({ cluster: c.name })}>
                Commitments
              </a>,
            ],
          ]}
        />
      </Panel>
      <Suspense fallback={<SkeletonRows rows={2} />}>
        <WindowPanel cluster={c} />
      </Suspense>
    </div>
    <Fold title="Snapshots" isOpen={part !== 'keys'}>
      <Suspense fallback={<SkeletonRows rows={5} />}>
        <ClusterSnapshots cluster={c} />
      </Suspense>
    </Fold>
    <Fold title="Keys" isOpen>
      <Keys cluster={c} />
    </Fold>
    <Panel title="Delete the cluster">
      <div className="stack stack3">
        <p className="fs13 t2">
          Deleting resets its servers, workers first: all data of the cluster is wiped, Talos stays
          installed, and each server is free again after a user has confirmed it. If servers never
          answer again, a failed or degraded cluster can be forgotten instead; nothing is wiped
          then.
        </p>
        <div className="row wrap">
          {ending.map((action) => (
            <ActionButton key={action.label} {...action} />
          ))}
        </div>
      </div>
    </Panel>
  </>
)
