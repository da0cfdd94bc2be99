/** Clusters as they were. */
import { useQuery } from '@tanstack/react-query'
import {
  clusterGetPast,
  clusterListPast,
  type PastCluster as Cluster,
} from '#contract/clusters/past-cluster.ts'
import { findingKinds } from '#contract/findings/kinds.ts'
import { paths } from '../../lib/paths.ts'
import type { Place } from '../../lib/router.ts'
import { Pending } from '../../ui/feedback/PageStates.tsx'
import { Empty } from '../../ui/feedback/States.tsx'
import { StatusDot, StatusReason } from '../../ui/feedback/Status.tsx'
import { findingTones } from '../../ui/feedback/finding-tones.ts'
import { Button } from '../../ui/inputs/Button.tsx'
import { Search } from '../../ui/inputs/Search.tsx'
import { columns, DataTable } from '../../ui/table/DataTable.tsx'
import { Pager } from '../../ui/table/Pager.tsx'
import { KeyValue, PageHeader, Panel } from '../../ui/text/Panel.tsx'
import css from './Past.module.css'
import { change, pastQuery } from './past-queries.ts'
import {
  Acts,
  acts,
  FindingThen,
  isPast,
  notRecorded,
  orNotRecorded,
  Unrecorded,
} from './PastParts.tsx'

const perPage = 50

function stateOf({ status, finding, reason }: Cluster) {
  const isBad = finding !== null && finding.severity !== 'attention'
  const word = status === null ? 'Not recorded' : status[0]!.toUpperCase() + status.slice(1)
  return {
    tone: isBad
      ? findingTones[finding.severity]
      : status === 'ready'
        ? ('ok' as const)
        : status === 'failed'
          ? ('danger' as const)
          : ('busy' as const),
    word: isBad ? findingKinds[finding.kind].word : word,
    why: finding?.reason ?? reason,
  }
}

const clusterColumns = columns<Cluster>([
  {
    id: 'name',
    head: 'Name',
    card: 'name',
    sortable: true,
    fixed: true,
    width: 210,
    cell: (c) => c.name ?? notRecorded,
  },
  {
    id: 'status',
    head: 'State',
    card: 'state',
    sortable: true,
    cell: (c) => <StatusReason {...stateOf(c)} />,
  },
  {
    id: 'datacenter',
    head: 'Location',
    from: 'md',
    sortable: true,
    width: 120,
    cell: (c) => c.datacenter?.code ?? '–',
  },
  {
    id: 'servers',
    head: 'Servers',
    card: 'fact',
    width: 110,
    cell: (c) => `${c.control_planes} + ${c.workers}`,
  },
  {
    id: 'kubernetes_version',
    head: 'Kubernetes',
    from: 'md',
    sortable: true,
    width: 120,
    cell: (c) => c.kubernetes_version ?? notRecorded,
  },
  {
    id: 'talos_version',
    head: 'Talos',
    from: 'md',
    sortable: true,
    width: 100,
    cell: (c) => c.talos_version ?? notRecorded,
  },
])

interface ListProps {
  at: string
  place: Place
  search: Readonly<Record<string, string>>
}

export function PastClusters({ at, place, search: { q, sort, page = '1' } }: ListProps) {
  const asked = { page, per_page: perPage, ...(q && { q }), ...(sort && { sort }), at }
  const { data, error, refetch } = useQuery(pastQuery(clusterListPast, { query: asked }))
  return (
    <>
      <div className={css['controls']}>
        <Search
          label="Search clusters"
          placeholder="Name, datacenter or version"
          value={q ?? ''}
          onValue={(text) => change(place, { q: text || undefined, page: undefined })}
        />
        <Button can={isPast}>Create cluster</Button>
      </div>
      <DataTable<Cluster>
        label="Clusters as they were"
        noun="cluster"
        rows={error ? undefined : data?.items}
        columns={clusterColumns}
        rowKey={(c) => c.id}
        rowName={(c) => c.name ?? c.id}
        href={(c) => `${paths.cluster(c.id)}?at=${at}`}
        actions={() => acts('Kubeconfig', 'Talosconfig', 'Delete')}
        sort={sort ?? 'name'}
        onSort={(to) => change(place, { sort: to, page: undefined })}
        empty={<Empty title="There were no clusters" />}
        filtered={q !== undefined}
        onReset={() => change(place, { q: undefined, page: undefined })}
        error={error}
        onRetry={() => void refetch()}
        foot={
          data && (
            <Pager
              page={data.page}
              perPage={perPage}
              total={data.total}
              plural="clusters"
              onPage={(to) => change(place, { page: String(to) })}
            />
          )
        }
      />
    </>
  )
}

const roles = { control_plane: 'Control plane', worker: 'Worker' } as const

export function PastCluster({ at, id }: { at: string; id: string }) {
  const found = useQuery(pastQuery(clusterGetPast, { params: { id }, query: { at } }))
  const c = found.data
  if (c === undefined || found.error) return <Pending of={found} />
  const state = stateOf(c)
  return (
    <>
      <PageHeader
        name={c.name ?? id}
        status={
          <StatusDot tone={state.tone} why={state.why} whole>
            {state.word}
          </StatusDot>
        }
        actions={<Acts labels={['Change', 'Kubeconfig', 'Delete']} />}
      />
      <div className={css['halves']}>
        <Panel title="As it was">
          <KeyValue
            rows={[
              c.finding && ['Finding', <FindingThen finding={c.finding} />],
              ['Datacenter', orNotRecorded(c.datacenter?.code)],
              ['Kubernetes', orNotRecorded(c.kubernetes_version)],
              ['Talos', orNotRecorded(c.talos_version)],
              ['Endpoint', orNotRecorded(c.endpoint)],
              [
                'Labels',
                c.labels === null
                  ? notRecorded
                  : Object.entries(c.labels)
                      .map(([key, value]) => `${key}=${value}`)
                      .join(', '),
              ],
            ]}
          />
        </Panel>
        <Panel title="Servers" note={`${c.control_planes} + ${c.workers}`}>
          <ul className={css['parts']}>
            {c.servers.map((s) => (
              <li key={s.node_id}>
                <a href={`${paths.server(s.node_id)}?at=${at}`}>{s.name}</a>{' '}
                <span className="t3">{s.role === null ? '' : roles[s.role]}</span>
              </li>
            ))}
          </ul>
        </Panel>
      </div>
      <Unrecorded fields={c.not_recorded} />
    </>
  )
}
