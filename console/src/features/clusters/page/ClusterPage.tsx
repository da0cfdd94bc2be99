import { useQuery } from '@tanstack/react-query'
import { type ReactNode, Suspense, useMemo, useState } from 'react'
import { type Cluster, clusterEvents } from '#contract/clusters/clusters.ts'
import { clusterUpdate } from '#contract/clusters/update.ts'
import { keptOf } from '#contract/clusters/existing.ts'
import { yes } from '#contract/rule.ts'
import { CallError } from '../../../api/client.ts'
import { query } from '../../../api/query.ts'
import { allowed } from '../../../api/session.ts'
import { ClusterFindings } from '../../../layout/findings/ObjectFindings.tsx'
import { labelledOf } from '../../../layout/labels/labelled.ts'
import { ObjectLabels } from '../../../layout/labels/ObjectLabels.tsx'
import { useCommands } from '../../../layout/search/commands.ts'
import { paths } from '../../../lib/paths.ts'
import { sentence, versionShown } from '../../../lib/text.ts'
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
import { Facts, KeyValue, PageHeader, Panel } from '../../../ui/text/Panel.tsx'
import { Tabs } from '../../../ui/text/Tabs.tsx'
import { changeActions } from '../change/change-actions.ts'
import { clusterActions, kubeconfigAction, talosconfigAction } from '../cluster-actions.ts'
import { ClusterNotFound } from '../ClusterNotFound.tsx'
import { clusterOne } from '../cluster-queries.ts'
import { endpointShown, isUnderWay } from '../cluster-state.ts'
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

const clusterTabs = [
  'overview',
  'health',
  'servers',
  'pods',
  'usage',
  'timeline',
  'history',
  'snapshots',
  'addresses',
  'keys',
  'events',
  'settings',
] as const
export type ClusterTab = (typeof clusterTabs)[number]

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
      <Shown key={id} cluster={cluster} tab={clusterTabs.find((t) => t === tab)} {...rest} />
    </>
  )
}

type ShownProps = Omit<ClusterPageProps, 'id' | 'tab'> & {
  cluster: Cluster
  tab: ClusterTab | undefined
}

function Shown({ cluster, tab: chosen, operation, addresses, pods, history, above }: ShownProps) {
  // The tab on which the page was opened stays when the operation ends.
  const [opened] = useState<ClusterTab>(isUnderWay(cluster) ? 'timeline' : 'overview')
  const tab = chosen ?? opened
  const actions = useMemo(() => clusterActions(cluster, 'page'), [cluster])
  const changes = useMemo(() => changeActions(cluster), [cluster])
  useCommands(
    `Act on ${cluster.name}`,
    useMemo(() => [...actions, ...changes], [actions, changes]),
  )
  const counts: Partial<Record<ClusterTab, number>> = {
    servers: cluster.servers.length,
    addresses: cluster.subnets.length,
  }
  return (
    <>
      <PageHeader
        name={cluster.name}
        status={<ClusterStatus cluster={cluster} />}
        actions={
          <>
            <Menu
              label={`Change ${cluster.name}`}
              items={changes}
              trigger={<Button icon="edit">Change</Button>}
            />
            <ActionButton {...kubeconfigAction(cluster)} />
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
            ['Kubernetes', versionShown(cluster.kubernetes_version)],
            ['Talos', versionShown(cluster.talos_version)],
            ['API endpoint', endpointOf(cluster)],
            ['Created', <Time key="c" at={cluster.created_at} />],
            allowed({ scope: 'marketplace:read' }).ok && [
              'Marketplace',
              <a key="m" href={paths.ccs({ cluster: cluster.name })}>
                Commitments
              </a>,
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
        tabs={clusterTabs.map((t) => ({
          id: t,
          text: sentence(t),
          count: counts[t],
          href: paths.cluster(cluster.id, t),
        }))}
      />
      <div className={css['tab']}>
        {tab === 'overview' && <Overview cluster={cluster} />}
        {tab === 'health' && (
          <Suspense fallback={<SkeletonRows rows={7} />}>
            <HealthTab cluster={cluster} />
          </Suspense>
        )}
        {tab === 'servers' && <ClusterServers cluster={cluster} />}
        {tab === 'pods' && (
          <Suspense fallback={<SkeletonRows rows={7} />}>{pods(cluster)}</Suspense>
        )}
        {tab === 'usage' && (
          <Suspense fallback={<SkeletonRows rows={8} />}>
            <ClusterUsage id={cluster.id} />
          </Suspense>
        )}
        {tab === 'timeline' && <ClusterTimeline cluster={cluster} chosen={operation} />}
        {tab === 'history' && history}
        {tab === 'snapshots' && (
          <Suspense fallback={<SkeletonRows rows={5} />}>
            <ClusterSnapshots cluster={cluster} />
          </Suspense>
        )}
        {tab === 'addresses' && (
          <Suspense fallback={<SkeletonRows rows={4} />}>{addresses(cluster)}</Suspense>
        )}
        {tab === 'keys' && <Keys cluster={cluster} />}
        {tab === 'events' && <Events id={cluster.id} />}
        {tab === 'settings' && (
          <Settings cluster={cluster} ending={actions.filter((a) => a.danger)} />
        )}
      </div>
    </>
  )
}

const mono = (text: string) => <span className="mono">{text}</span>
const endpointOf = ({ endpoint }: Cluster) => (
  <Copyable value={endpoint} what="API endpoint" shown={endpointShown(endpoint)} />
)

function Overview({ cluster: c }: { cluster: Cluster }) {
  return (
    <>
      <ClusterFindings cluster={c} />
      {!isUnderWay(c) && (
        <Suspense fallback={<SkeletonRows rows={7} />}>
          <HealthLines cluster={c} more={<a href={paths.cluster(c.id, 'health')}>Details</a>} />
          <ScheduledChanges cluster={c} />
        </Suspense>
      )}
      <div className={css['wide']}>
        <ClusterServers cluster={c} brief />
        <Panel title="Network">
          <KeyValue
            rows={[
              ['Kubernetes API', endpointOf(c)],
              [
                'Endpoint',
                c.virtual_ip ? 'Virtual IP, held by the control planes' : 'Fixed address or name',
              ],
              ['VLAN', c.vlan_id],
              ['Pod CIDR', mono(c.pod_cidr)],
              ['Service CIDR', mono(c.service_cidr)],
              [
                'IP subnets',
                c.subnets.length === 0 ? (
                  <a href={paths.cluster(c.id, 'addresses')}>None yet</a>
                ) : (
                  c.subnets.map((s) => (
                    <a
                      key={s.id}
                      className="mono row"
                      href={paths.network({ q: s.name, open: s.id })}
                    >
                      {s.cidr}
                    </a>
                  ))
                ),
              ],
            ]}
          />
        </Panel>
      </div>
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

/** The settings of the cluster. `ending`: the actions that delete the cluster. */
const Settings = ({ cluster: c, ending }: { cluster: Cluster; ending: readonly Action[] }) => (
  <div className={css['cols']}>
    <Panel title="Configuration">
      <KeyValue
        rows={[
          ['Name', c.name],
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
        ]}
      />
    </Panel>
    <Suspense fallback={<SkeletonRows rows={2} />}>
      <WindowPanel cluster={c} />
    </Suspense>
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
  </div>
)
