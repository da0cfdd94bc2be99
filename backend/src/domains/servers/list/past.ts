/** Servers as they were at a time of the past, from what the history records. */
import * as z from 'zod/mini'
import { Problem } from '#contract/errors.ts'
import type { WorstFinding } from '#contract/findings/findings.ts'
import type { ServerState } from '#contract/history/kinds.ts'
import { selects } from '#contract/labels/selector.ts'
import { memoryPage, type MemoryReaders, noValue } from '#contract/list.ts'
import type { Input } from '#contract/operation.ts'
import { PastServer, serverGetPast, serverListPast } from '#contract/servers/past-server.ts'
import { serverList } from '#contract/servers/server.ts'
import { versionKey } from '#contract/versions.ts'
import { Serialised } from '../../../http/serve.ts'
import type { Known } from '../../history/api.ts'
import type { CallParts } from '../parts.ts'
import { addressKey, selectorIn, statusRank } from '../present.ts'

type Query = Input<typeof serverList>['query']
type KnownServer = Known<ServerState>

/** What the history records of no server, by path in the answer. */
const neverOfList = [
  'datacenter.id',
  'capacity_commitment',
  'ineligible',
  'drift.seen',
  'pending',
  'trial',
  'left_cluster',
  'operation_id',
  'talos.last_contact_at',
  'talos.silent_after',
  'identity.seen',
]
const neverOfPage = [...neverOfList, 'talos.installed', 'resources', 'eligibility', 'notes']

/** Where each field of the state stands in the answer. */
const pathOf: Readonly<Record<keyof ServerState, string>> = {
  name: 'name',
  status: 'status',
  address: 'nodeAddresses',
  addresses: 'nodeAddresses',
  datacenter: 'datacenter',
  placement: 'placement',
  cluster: 'cluster',
  role: 'type',
  reachable: 'talos.reachable',
  stage: 'talos.stage',
  node_ready: 'kubernetes',
  identity: 'identity.state',
  talos_version: 'talos.version',
  schematic: 'talos.schematic',
  uuid: 'identity.uuid',
  serial: 'identity.serial',
  maker: 'hardware.maker',
  model: 'hardware.model',
  capacity: 'hardware.cores',
  hardware: 'parts',
  links_up: 'links_up',
  drifted: 'drift',
  failure: 'failure',
  labels: 'labels',
  quarantine: 'quarantine',
}
const fields = Object.keys(pathOf) as (keyof ServerState)[]
const onlyOnPage: ReadonlySet<keyof ServerState> = new Set(['hardware', 'links_up', 'schematic'])

/** The fields of the answer of which nothing is known of these servers. */
function notRecorded(known: readonly KnownServer[], isPage: boolean): string[] {
  const missing = fields.filter(
    (field) =>
      (isPage || !onlyOnPage.has(field)) &&
      field !== 'addresses' &&
      known.some(({ state }) => !(field in state)),
  )
  return [
    ...(isPage ? neverOfPage : neverOfList),
    ...missing.map((field) => pathOf[field]),
    ...(missing.includes('capacity') ? ['hardware.memory_bytes', 'hardware.disk_bytes'] : []),
  ]
}

const iso = (at: Date | undefined): string | null => at?.toISOString() ?? null

const parse = <S extends z.core.$ZodType>(schema: S, value: unknown): z.output<S> | null => {
  const read = z.safeParse(schema, value)
  return read.success ? read.data : null
}
const { stage: stageSchema } = PastServer.shape.talos.shape
const { state: identitySchema } = PastServer.shape.identity.shape

function kubernetesOf({ state, origins }: KnownServer): PastServer['kubernetes'] {
  if (state.node_ready === undefined) return null
  const origin = origins.node_ready
  // Until its node was seen, a server has none; out of a cluster it has none any more.
  if (state.node_ready === null && !state.cluster) return null
  return {
    ready: state.node_ready,
    reason: state.node_ready === true ? null : (origin?.reason ?? null),
    since: iso(origin?.at),
  }
}

function shownOf(known: KnownServer, finding: WorstFinding | null): PastServer {
  const { state, origins } = known
  const { address, addresses, capacity, datacenter, failure, quarantine, reachable } = state
  return {
    id: known.id,
    name: state.name ?? null,
    status: state.status ?? null,
    type: state.role ?? null,
    nodeAddresses: addresses ? [...addresses] : address === undefined ? null : [address],
    datacenter: datacenter ? { id: null, code: datacenter } : null,
    placement: state.placement ?? null,
    cluster: state.cluster ?? null,
    capacity_commitment: null,
    kubernetes: kubernetesOf(known),
    hardware: {
      maker: state.maker ?? null,
      model: state.model ?? null,
      cores: capacity?.cores ?? null,
      memory_bytes: capacity?.memory_bytes ?? null,
      disk_bytes: capacity?.disk_bytes ?? null,
    },
    ineligible: null,
    drift: state.drifted ? { since: iso(origins.drifted?.at), seen: null } : null,
    pending: null,
    trial: null,
    failure:
      failure === null || failure === undefined
        ? null
        : { reason: failure, since: iso(origins.failure?.at) },
    finding,
    left_cluster: null,
    labels: state.labels ?? null,
    quarantine:
      quarantine === null || quarantine === undefined
        ? null
        : {
            reason: quarantine,
            by: origins.quarantine?.by ?? null,
            since: iso(origins.quarantine?.at),
          },
    operation_id: null,
    created_at: iso(known.addedAt ?? undefined),
    talos: {
      version: state.talos_version ?? null,
      stage: parse(stageSchema, state.stage),
      reachable: reachable ?? null,
      last_contact_at: null,
      unreachable_since: reachable === false ? iso(origins.reachable?.at) : null,
      reason: reachable === false ? (origins.reachable?.reason ?? null) : null,
      silent_after: null,
    },
    identity: {
      state: parse(identitySchema, state.identity),
      uuid: state.uuid ?? null,
      serial: state.serial ?? null,
      seen: null,
    },
  }
}

interface Row {
  readonly known: KnownServer
  readonly shown: PastServer
}

const isNamed = (wanted: string, object: { id: string | null; said: string } | null): boolean =>
  wanted === noValue ? object === null : object?.said === wanted || object?.id === wanted

const readers: MemoryReaders<typeof serverList.list, Row> = {
  sort: {
    name: ({ shown }) => shown.name,
    status: ({ shown }) =>
      statusRank({
        ...shown,
        isOnTrial: false,
        isConfirmed: shown.identity.state === 'confirmed',
      }),
    cluster: ({ shown }) => shown.cluster?.name ?? null,
    hardware: ({ shown: { hardware } }) =>
      hardware.model === null && hardware.cores === null
        ? null
        : `${hardware.model ?? ''} ${String(hardware.cores ?? 0).padStart(6, '0')}`,
    datacenter: ({ shown }) => shown.datacenter?.code ?? null,
    rack: ({ shown }) => shown.placement,
    cc: () => null,
    contact: () => null,
    type: ({ shown }) => shown.type,
    stage: ({ shown }) => shown.talos.stage,
    power: () => null,
    maker: ({ shown }) => shown.hardware.maker,
    model: ({ shown }) => shown.hardware.model,
    serial: ({ shown }) => shown.identity.serial,
    cores: ({ shown }) => shown.hardware.cores,
    memory: ({ shown }) => shown.hardware.memory_bytes,
    disks: ({ shown }) => shown.hardware.disk_bytes,
    address: ({ shown }) => addressKey(shown.nodeAddresses?.[0]),
    talos_version: ({ shown }) => versionKey(shown.talos.version),
    created_at: ({ shown }) => shown.created_at,
  },
  filters: {
    status: ({ shown }, status) => shown.status === status,
    nodeType: ({ shown }, type) => shown.type === type,
    datacenter: ({ shown: { datacenter } }, wanted) =>
      isNamed(wanted, datacenter && { id: null, said: datacenter.code }),
    rack: ({ shown: { placement } }, wanted) =>
      isNamed(wanted, placement === null ? null : { id: null, said: placement.split(', ')[0]! }),
    cluster: ({ shown: { cluster } }, wanted) =>
      isNamed(wanted, cluster && { id: cluster.id, said: cluster.name }),
    finding: ({ shown }, wanted) => (shown.finding?.kind ?? noValue) === wanted,
    reachable: ({ shown }, wanted) => String(shown.talos.reachable) === wanted,
    confirmed: ({ shown }, wanted) => String(shown.identity.state === 'confirmed') === wanted,
    cc: () => false,
    stage: ({ shown }, wanted) => shown.talos.stage === wanted,
    power: () => false,
    eligible: () => false,
    label: ({ shown }, wanted) => selects(selectorIn(wanted), shown.labels ?? {}),
    quarantine: ({ shown }, wanted) => String(shown.quarantine !== null) === wanted,
  },
  search: ({ known, shown }, text) =>
    [
      shown.name,
      known.state.address,
      shown.id,
      shown.cluster?.name,
      shown.identity.serial,
      shown.identity.uuid,
      shown.hardware.model,
      ...(shown.nodeAddresses ?? []),
    ].some((value) => value?.toLowerCase().includes(text)),
  ties: [({ shown }) => shown.name, ({ shown }) => shown.id],
}

/** @throws Problem bad_request for a filter by what the history doesn't record */
function demandRecorded(query: Query): void {
  const refuse = (filter: 'cc' | 'eligible' | 'power' | 'reachable', what: string): never => {
    const reason = `The history doesn't record ${what}: the filter can't be used for the past`
    throw new Problem('bad_request', reason, { [filter]: reason })
  }
  if (query.cc !== undefined) refuse('cc', 'commitments')
  if (query.power !== undefined) refuse('power', 'the power of servers')
  if (query.eligible !== undefined) refuse('eligible', 'which servers could join a cluster')
  if (query.reachable === 'away') refuse('reachable', 'whether an operation took a server offline')
}

/** What the calls about the past need. */
export type PastParts = Pick<CallParts, 'history' | 'worstThen'>

/** What is shown of the servers of a moment, as long as the history keeps the moment in memory. */
const shownOfMoment = new WeakMap<readonly KnownServer[], readonly Row[]>()
async function rowsAt({ history, worstThen }: PastParts, at: Date): Promise<readonly Row[]> {
  const all = await history.past.servers(at)
  const made = shownOfMoment.get(all)
  if (made) return made
  const worst = await worstThen(at)
  const rows = all.map((known) => ({ known, shown: shownOf(known, worst.get(known.id) ?? null) }))
  shownOfMoment.set(all, rows)
  return rows
}

/** A page of the servers of a time. @throws Problem bad_request, before_history */
export async function pageOfPast(parts: PastParts, query: Query, at: string): Promise<Serialised> {
  demandRecorded(query)
  const all = await rowsAt(parts, new Date(at))
  const rows = all.filter(({ known }) => query.status !== undefined || !known.isRemoved)
  const { items, ...page } = memoryPage(serverList.list, rows, readers, query)
  const answer = z.parse(serverListPast.answer, {
    ...page,
    items: items.map(({ shown }) => shown),
    at: new Date(at).toISOString(),
    not_recorded: notRecorded(
      items.map(({ known }) => known),
      false,
    ),
  })
  return new Serialised(JSON.stringify(answer))
}

/** A server at a time. @throws Problem bad_request, before_history, not_found */
export async function serverOfPast(
  { history, worstThen }: PastParts,
  id: string,
  at: string,
): Promise<Serialised> {
  const time = new Date(at)
  const known = await history.past.server(time, id)
  if (known === undefined) throw new Problem('not_found', `There was no server ${id} at ${at}`)
  const { talos, ...shown } = shownOf(known, (await worstThen(time)).get(id) ?? null)
  const answer = z.parse(serverGetPast.answer, {
    ...shown,
    talos: { ...talos, schematic: known.state.schematic ?? null, installed: null },
    parts: known.state.hardware ?? null,
    links_up: known.state.links_up ?? null,
    resources: null,
    eligibility: null,
    notes: null,
    at: new Date(at).toISOString(),
    not_recorded: notRecorded([known], true),
  })
  return new Serialised(JSON.stringify(answer))
}
