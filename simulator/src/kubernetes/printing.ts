import { type Body, list, object, text } from '../config/shape.ts'
import type { ResourceKind } from './kinds.ts'

const SECOND = 1
const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const YEAR = 365 * DAY

/**
 * A duration as kubectl shows an age (Kubernetes: apimachinery/pkg/util/duration, HumanDuration).
 */
export const humanDuration = (ms: number): string => {
  const seconds = Math.floor(ms / 1000)
  if (seconds < -1) return '<invalid>'
  if (seconds < 0) return '0s'
  const two = (large: number, largeUnit: string, small: number, smallUnit: string): string => {
    const rest = Math.floor((seconds % large) / small)
    return `${Math.floor(seconds / large)}${largeUnit}${rest === 0 ? '' : `${rest}${smallUnit}`}`
  }
  if (seconds < 2 * MINUTE) return `${seconds}s`
  if (seconds < 10 * MINUTE) return two(MINUTE, 'm', SECOND, 's')
  if (seconds < 3 * HOUR) return `${Math.floor(seconds / MINUTE)}m`
  if (seconds < 8 * HOUR) return two(HOUR, 'h', MINUTE, 'm')
  if (seconds < 2 * DAY) return `${Math.floor(seconds / HOUR)}h`
  if (seconds < 8 * DAY) return two(DAY, 'd', HOUR, 'h')
  if (seconds < 2 * YEAR) return `${Math.floor(seconds / DAY)}d`
  if (seconds < 8 * YEAR) return two(YEAR, 'y', DAY, 'd')
  return `${Math.floor(seconds / YEAR)}y`
}

/** The age since an RFC 3339 time. */
export const ageOf = (at: unknown, now: number): string => {
  const time = typeof at === 'string' ? Date.parse(at) : Number.NaN
  return Number.isNaN(time) ? '<unknown>' : humanDuration(now - time)
}

interface Column {
  name: string
  type: string
  /** Columns with priority 0 are always shown, others only with `-o wide`. */
  priority: number
  cell: (body: Body, now: number) => string | number
}

const column = (name: string, cell: Column['cell'], more: Partial<Column> = {}): Column => ({
  name,
  type: 'string',
  priority: 0,
  cell,
  ...more,
})
const wide = (name: string, cell: Column['cell']): Column => column(name, cell, { priority: 1 })

const meta = (body: Body): Body => object(body.metadata)
const spec = (body: Body): Body => object(body.spec)
const status = (body: Body): Body => object(body.status)
const orNone = (value: string): string => (value === '' ? '<none>' : value)
const size = (value: unknown): number => Object.keys(object(value)).length
const pairs = (value: unknown): string =>
  orNone(
    Object.entries(object(value))
      .map(([key, item]) => `${key}=${text(item)}`)
      .join(','),
  )
const containers = (body: Body, field: string): string =>
  list(object(spec(object(spec(body).template))).containers)
    .map((container) => text(object(container)[field]))
    .join(',')
const number = (value: unknown): number => (typeof value === 'number' ? value : 0)

const NAME = column('Name', (body) => text(meta(body).name), { type: 'string' })
const AGE = column('Age', (body, now) => ageOf(meta(body).creationTimestamp, now))
const CREATED = column('Created At', (body) => text(meta(body).creationTimestamp), { type: 'date' })

const nodeStatus = (body: Body): string => {
  const ready = list(status(body).conditions)
    .map(object)
    .find(({ type }) => type === 'Ready')
  const word = ready === undefined ? 'Unknown' : ready.status === 'True' ? 'Ready' : 'NotReady'
  return spec(body).unschedulable === true ? `${word},SchedulingDisabled` : word
}

const nodeRoles = (body: Body): string =>
  orNone(
    Object.keys(object(meta(body).labels))
      .flatMap((label) => /^node-role\.kubernetes\.io\/(.+)$/.exec(label)?.[1] ?? [])
      .toSorted()
      .join(','),
  )

const address = (type: string) => (body: Body) =>
  orNone(
    text(
      list(status(body).addresses)
        .map(object)
        .find((one) => one.type === type)?.address,
    ),
  )
const info = (field: string) => (body: Body) =>
  text(object(status(body).nodeInfo)[field]) || '<unknown>'

const externalIp = (body: Body): string => {
  const given = list(object(status(body).loadBalancer).ingress).map(
    (one) => text(object(one).ip) || text(object(one).hostname),
  )
  const all = [...given, ...list(spec(body).externalIPs).map(text)].join(',')
  if (all !== '') return all
  return spec(body).type === 'LoadBalancer' ? '<pending>' : '<none>'
}

const ports = (body: Body): string =>
  orNone(
    list(spec(body).ports)
      .map(object)
      .map(
        ({ port, nodePort, protocol }) =>
          `${number(port)}${nodePort === undefined ? '' : `:${number(nodePort)}`}/${text(protocol) || 'TCP'}`,
      )
      .join(','),
  )

const eventObject = ({ involvedObject }: Body): string =>
  `${text(object(involvedObject).kind).toLowerCase()}/${text(object(involvedObject).name)}`
const subjects = (body: Body): string =>
  `${text(object(body.roleRef).kind)}/${text(object(body.roleRef).name)}`

/** Columns of the API server's tables (Kubernetes: pkg/printers/internalversion/printers.go). */
const COLUMNS: Readonly<Record<string, readonly Column[]>> = {
  nodes: [
    column('Status', nodeStatus),
    column('Roles', nodeRoles),
    AGE,
    column('Version', info('kubeletVersion')),
    wide('Internal-IP', address('InternalIP')),
    wide('External-IP', address('ExternalIP')),
    wide('OS-Image', info('osImage')),
    wide('Kernel-Version', info('kernelVersion')),
    wide('Container-Runtime', info('containerRuntimeVersion')),
  ],
  namespaces: [column('Status', (body) => text(status(body).phase)), AGE],
  services: [
    column('Type', (body) => text(spec(body).type) || 'ClusterIP'),
    column('Cluster-IP', (body) => orNone(text(spec(body).clusterIP))),
    column('External-IP', externalIp),
    column('Port(s)', ports),
    AGE,
    wide('Selector', (body) => pairs(spec(body).selector)),
  ],
  secrets: [
    column('Type', ({ type }) => text(type)),
    column('Data', ({ data }) => size(data), { type: 'integer' }),
    AGE,
  ],
  configmaps: [
    column('Data', ({ data, binaryData }) => size(data) + size(binaryData), { type: 'integer' }),
    AGE,
  ],
  serviceaccounts: [
    column('Secrets', (body) => list(body.secrets).length, { type: 'integer' }),
    AGE,
  ],
  pods: [
    column(
      'Ready',
      (body) =>
        `${list(status(body).containerStatuses).filter((item) => object(item).ready).length}/${list(spec(body).containers).length}`,
    ),
    column('Status', (body) => text(status(body).phase) || 'Pending'),
    column('Restarts', () => 0, { type: 'integer' }),
    AGE,
    wide('IP', (body) => orNone(text(status(body).podIP))),
    wide('Node', (body) => orNone(text(spec(body).nodeName))),
  ],
  deployments: [
    column(
      'Ready',
      (body) => `${number(status(body).readyReplicas)}/${number(spec(body).replicas ?? 1)}`,
    ),
    column('Up-to-date', (body) => number(status(body).updatedReplicas), { type: 'integer' }),
    column('Available', (body) => number(status(body).availableReplicas), { type: 'integer' }),
    AGE,
    wide('Containers', (body) => containers(body, 'name')),
    wide('Images', (body) => containers(body, 'image')),
    wide('Selector', (body) => pairs(object(spec(body).selector).matchLabels)),
  ],
  daemonsets: [
    ...[
      ['Desired', 'desiredNumberScheduled'],
      ['Current', 'currentNumberScheduled'],
      ['Ready', 'numberReady'],
      ['Up-to-date', 'updatedNumberScheduled'],
      ['Available', 'numberAvailable'],
    ].map(([name = '', field = '']) =>
      column(name, (body) => number(status(body)[field]), { type: 'integer' }),
    ),
    column('Node Selector', (body) =>
      pairs(object(spec(object(spec(body).template))).nodeSelector),
    ),
    AGE,
  ],
  events: [
    column('Last Seen', ({ lastTimestamp, eventTime, firstTimestamp }, now) =>
      ageOf(lastTimestamp ?? eventTime ?? firstTimestamp, now),
    ),
    column('Type', ({ type }) => text(type)),
    column('Reason', ({ reason }) => text(reason)),
    column('Object', eventObject),
    wide('Subobject', ({ involvedObject }) => text(object(involvedObject).fieldPath)),
    wide('Source', ({ source }) =>
      [text(object(source).component), text(object(source).host)]
        .filter((part) => part !== '')
        .join(', '),
    ),
    column('Message', ({ message }) => text(message).trim()),
    wide('First Seen', ({ firstTimestamp, eventTime }, now) =>
      ageOf(firstTimestamp ?? eventTime, now),
    ),
    wide('Count', ({ count }) => number(count ?? 1)),
    wide('Name', (body) => text(meta(body).name)),
  ],
  clusterroles: [CREATED],
  roles: [CREATED],
  clusterrolebindings: [column('Role', subjects), AGE],
  rolebindings: [column('Role', subjects), AGE],
  customresourcedefinitions: [CREATED],
  leases: [column('Holder', (body) => text(spec(body).holderIdentity)), AGE],
}

/**
 * The columns of a kind: built-in, or from its definition, or just name and age. For events the
 * name is the last column.
 */
export const columnsOf = (
  { group, plural }: ResourceKind,
  definition: Body | undefined,
  version: string,
): readonly Column[] => {
  if (definition) return [NAME, ...definedColumns(definition, version)]
  const known = Object.hasOwn(COLUMNS, plural) ? COLUMNS[plural]! : [AGE]
  return plural === 'events' && group === '' ? known : [NAME, ...known]
}

/** `additionalPrinterColumns` with simple paths. Paths with filters give empty cells. */
const definedColumns = (definition: Body, version: string): Column[] => {
  const found = list(
    list(spec(definition).versions)
      .map(object)
      .find(({ name }) => name === version)?.additionalPrinterColumns,
  ).map(object)
  if (found.length === 0) return [AGE]
  return found.map(({ name, type, priority, jsonPath }) => {
    const path = text(jsonPath).replace(/^\./, '').split('.')
    const cell = (body: Body, now: number): string => {
      const value = path.reduce<unknown>((at, key) => object(at)[key], body)
      return type === 'date'
        ? ageOf(value, now)
        : typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
          ? String(value)
          : ''
    }
    return column(text(name), cell, {
      type: type === 'date' ? 'string' : text(type),
      priority: number(priority),
    })
  })
}

/** Form of a response: the objects, a table of texts, or metadata only. */
export type Form = 'objects' | 'table' | 'metadata'

/**
 * The first supported form of an Accept header (Kubernetes: docs/reference/using-api/api-concepts,
 * "Receiving resources as Tables").
 */
export const formOf = (accept: string): Form => {
  for (const entry of accept.split(',')) {
    const [type = '', ...parameters] = entry.split(';').map((part) => part.trim())
    if (type !== 'application/json' && type !== '*/*') continue
    const as = parameters.find((parameter) => parameter.startsWith('as='))?.slice(3)
    if (as === undefined) return 'objects'
    if (!parameters.includes('g=meta.k8s.io') || !parameters.includes('v=v1')) continue
    if (as === 'Table') return 'table'
    if (as.startsWith('PartialObjectMetadata')) return 'metadata'
  }
  return 'objects'
}

export const tableOf = (
  columns: readonly Column[],
  bodies: readonly Body[],
  metadata: Body,
  { include, now, withHeaders = true }: { include: string; now: number; withHeaders?: boolean },
): object => ({
  kind: 'Table',
  apiVersion: 'meta.k8s.io/v1',
  metadata,
  columnDefinitions: withHeaders
    ? columns.map(({ name, type, priority }) => ({
        name,
        type,
        format: name === 'Name' ? 'name' : '',
        description: name,
        priority,
      }))
    : null,
  rows: bodies.map((body) => ({
    cells: columns.map(({ cell }) => cell(body, now)),
    ...(include !== 'None' && { object: include === 'Object' ? body : metadataOf(body) }),
  })),
})

export const metadataOf = ({ metadata }: Body): object => ({
  kind: 'PartialObjectMetadata',
  apiVersion: 'meta.k8s.io/v1',
  metadata,
})

/** List metadata for a single object. */
export const listMetadata = (body: Body): Body => ({
  resourceVersion: text(object(body.metadata).resourceVersion),
})
