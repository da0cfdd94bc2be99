/** Clusters as they were at a time of the past, from what the history records. */
import * as z from 'zod/mini'
import { clusterList } from '#contract/clusters/clusters.ts'
import {
  clusterGetPast,
  clusterListPast,
  type PastCluster,
} from '#contract/clusters/past-cluster.ts'
import { Problem } from '#contract/errors.ts'
import type { WorstFinding } from '#contract/findings/findings.ts'
import { kindsOfFindings } from '#contract/findings/kinds.ts'
import type { ClusterState, ServerState } from '#contract/history/kinds.ts'
import { selectorOf, selects } from '#contract/labels/selector.ts'
import { memoryPage, type MemoryReaders, noValue } from '#contract/list.ts'
import type { Input } from '#contract/operation.ts'
import { versionKey } from '#contract/versions.ts'
import { Serialised } from '../../../http/serve.ts'
import type { Known } from '../../history/api.ts'
import type { ClusterParts } from '../parts.ts'

type Query = Input<typeof clusterList>['query']
type KnownCluster = Known<ClusterState>
type KnownServer = Known<ServerState>

/** What the history records of no cluster, by path in the answer. */
const never = [
  'troubles',
  'upgrade',
  'certificates_ending',
  'virtual_ip',
  'vlan_id',
  'pod_cidr',
  'service_cidr',
  'former_servers',
  'subnets',
  'chainAddress',
  'offerId',
  'operation_id',
  'notes',
  'maintenance_window',
]
/** Where each field of the state stands in the answer. */
const pathOf: Readonly<Record<Exclude<keyof ClusterState, 'removed' | 'problem'>, string>> = {
  name: 'name',
  status: 'status',
  locked_out: 'locked_out',
  talos_version: 'talos_version',
  kubernetes_version: 'kubernetes_version',
  endpoint: 'endpoint',
  labels: 'labels',
}
const notRecorded = (rows: readonly Row[]): string[] => [
  ...never,
  ...Object.entries(pathOf).flatMap(([field, path]) =>
    rows.some(({ known }) => !(field in known.state)) ? [path] : [],
  ),
  ...(rows.some(({ shown }) => shown.datacenter === null) ? ['datacenter'] : ['datacenter.id']),
]

const { status: statusSchema } = clusterGetPast.answer.shape
const { authority: authoritySchema } = clusterGetPast.answer.shape.locked_out.def.innerType.shape
const parse = <S extends z.core.$ZodType>(schema: S, value: unknown): z.output<S> | null => {
  const read = z.safeParse(schema, value)
  return read.success ? read.data : null
}

/** A ready cluster is degraded while a finding says that it serves less than it should. */
const statusOf = (status: string | undefined, finding: WorstFinding | null) =>
  status === 'ready' && finding !== null && finding.severity !== 'attention'
    ? 'degraded'
    : parse(statusSchema, status)

function shownOf(
  { id, state, origins, addedAt }: KnownCluster,
  servers: readonly KnownServer[],
  finding: WorstFinding | null,
): PastCluster {
  const countOf = (role: string): number => servers.filter((s) => s.state.role === role).length
  // The servers of a cluster are in its datacenter.
  const place = servers.find((s) => s.state.datacenter)?.state.datacenter ?? undefined
  const authority = parse(authoritySchema, state.locked_out)
  return {
    id,
    name: state.name ?? null,
    status: statusOf(state.status, finding),
    reason: origins.status?.reason ?? null,
    troubles: null,
    finding,
    upgrade: null,
    certificates_ending: null,
    datacenter: place === undefined ? null : { id: null, code: place },
    talos_version: state.talos_version ?? null,
    kubernetes_version: state.kubernetes_version ?? null,
    endpoint: state.endpoint ?? null,
    virtual_ip: null,
    vlan_id: null,
    pod_cidr: null,
    service_cidr: null,
    servers: servers
      .map((one) => ({
        node_id: one.id,
        name: one.state.name ?? '',
        role: one.state.role === 'unknown' ? null : (one.state.role ?? null),
      }))
      .toSorted((a, b) => (`${a.role ?? ''} ${a.name}` < `${b.role ?? ''} ${b.name}` ? -1 : 1)),
    former_servers: null,
    control_planes: countOf('control_plane'),
    workers: countOf('worker'),
    subnets: null,
    chainAddress: null,
    offerId: null,
    operation_id: null,
    labels: state.labels ?? null,
    notes: null,
    maintenance_window: null,
    locked_out:
      authority === null
        ? null
        : { authority, since: origins.locked_out?.at.toISOString() ?? null },
    created_at: addedAt?.toISOString() ?? null,
  }
}

interface Row {
  readonly known: KnownCluster
  readonly shown: PastCluster
}

const plain = (version: string | null): string | undefined => version?.replace(/^v/, '')
const statuses = [
  'failed',
  'deleting',
  'pending',
  'configuring',
  'installing',
  'bootstrapping',
  'ready',
]

const readers: MemoryReaders<typeof clusterList.list, Row> = {
  sort: {
    name: ({ shown }) => shown.name,
    datacenter: ({ shown }) => shown.datacenter?.code ?? null,
    status: ({ shown: { finding, status } }) =>
      (finding === null ? 1_000 : kindsOfFindings.indexOf(finding.kind)) +
      (statuses.indexOf(status ?? '') + 1) / 10,
    kubernetes_version: ({ shown }) => versionKey(shown.kubernetes_version),
    talos_version: ({ shown }) => versionKey(shown.talos_version),
    created_at: ({ shown }) => shown.created_at,
  },
  filters: {
    status: ({ shown }, status) => shown.status === status,
    datacenter: ({ shown }, wanted) => shown.datacenter?.code === wanted,
    finding: ({ shown }, wanted) => (shown.finding?.kind ?? noValue) === wanted,
    talos_version: ({ shown }, wanted) => plain(shown.talos_version) === plain(wanted),
    kubernetes_version: ({ shown }, wanted) => plain(shown.kubernetes_version) === plain(wanted),
    label: ({ shown }, wanted) => selects(selectorOf(wanted)!, shown.labels ?? {}),
  },
  search: ({ shown }, text) =>
    [
      shown.name,
      shown.datacenter?.code,
      shown.talos_version,
      shown.kubernetes_version,
      shown.status,
    ].some((value) => value?.toLowerCase().includes(text)),
  ties: [({ shown }) => shown.name, ({ shown }) => shown.id],
}

/** A page of the clusters of a time. @throws Problem bad_request, before_history */
type PastParts = Pick<ClusterParts, 'history' | 'worstThen'>

export async function pageOfPast(
  { history: { past }, worstThen }: PastParts,
  query: Query,
  at: string,
): Promise<Serialised> {
  const time = new Date(at)
  const [all, servers] = [await past.clusters(time), await past.servers(time)]
  const worst = await worstThen(time)
  const members = Map.groupBy(
    servers.filter((one) => !one.isRemoved),
    (one) => one.state.cluster?.id,
  )
  const rows = all
    .filter((known) => !known.isRemoved)
    .map((known) => ({
      known,
      shown: shownOf(known, members.get(known.id) ?? [], worst.get(known.id) ?? null),
    }))
  const { items, ...page } = memoryPage(clusterList.list, rows, readers, query)
  const answer = z.parse(clusterListPast.answer, {
    ...page,
    items: items.map(({ shown }) => shown),
    at: time.toISOString(),
    not_recorded: notRecorded(items),
  })
  return new Serialised(JSON.stringify(answer))
}

/** A cluster at a time. @throws Problem bad_request, before_history, not_found */
export async function clusterOfPast(
  { history: { past }, worstThen }: PastParts,
  id: string,
  at: string,
): Promise<Serialised> {
  const time = new Date(at)
  const found = await past.cluster(time, id)
  if (found === undefined || found.cluster.isRemoved)
    throw new Problem('not_found', `There was no cluster ${id} at ${at}`)
  const row = {
    known: found.cluster,
    shown: shownOf(found.cluster, found.servers, (await worstThen(time)).get(id) ?? null),
  }
  const answer = z.parse(clusterGetPast.answer, {
    ...row.shown,
    at: new Date(at).toISOString(),
    not_recorded: notRecorded([row]),
  })
  return new Serialised(JSON.stringify(answer))
}
